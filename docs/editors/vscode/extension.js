"use strict";

const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

/** Start `injector lsp`, which looks after every file that belongs to a template. */
exports.activate = async function () {
  const command = workspace.getConfiguration("sidecar-injector").get("command");
  const server = { command, args: ["lsp"] };
  const documents = ["yaml", "jinja", "markdown"].map((language) => ({ scheme: "file", language }));
  documents.push({ scheme: "file", pattern: "**/*.j2" });
  client = new LanguageClient("sidecar-injector", "sidecar-injector", server, { documentSelector: documents });
  await client.start();
};

exports.deactivate = function () {
  return client?.stop();
};
