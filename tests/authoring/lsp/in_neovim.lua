-- Types the tutorial's steps 4 to 6 in Neovim, key by key, and writes what it shows after each as JSON into $SHOWN.

local shown = {}

local function keys(text)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(text, true, false, true), "tx", false)
end

local function open(file)
  vim.cmd("edit " .. file)
  vim.opt_local.autoindent = false
  vim.opt_local.indentexpr = ""
end

local function diagnostics()
  local listed = {}
  for _, each in ipairs(vim.diagnostic.get(nil)) do
    if each.source == "injector" then
      local file = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(each.bufnr), ":t")
      table.insert(listed, { each.code or each.user_data.lsp.code, file, each.lnum + 1, each.col + 1 })
    end
  end
  return listed
end

local function until_there_are(codes, step)
  local wanted = table.concat(codes, " ")
  local function matches()
    local names = {}
    for _, each in ipairs(diagnostics()) do
      table.insert(names, each[1])
    end
    table.sort(names)
    return table.concat(names, " ") == wanted
  end
  vim.wait(60000, matches, 50)
  shown[step] = diagnostics()
end

local function ask(method, params)
  for _, answer in pairs(vim.lsp.buf_request_sync(0, method, params, 60000) or {}) do
    return answer.result
  end
end

local function at(text) -- the cursor on a text
  vim.fn.cursor(1, 1)
  vim.fn.search("\\V" .. text, "c")
end

open("overlay.yaml.j2")
vim.wait(60000, function()
  local client = vim.lsp.buf_get_clients(0)[1]
  return client ~= nil and client.initialized
end, 50)

-- 4. Change it
at("  volumes:")
keys("O" .. '  - name: "*"<CR>    env:<CR>    - {name: GREETER_URL, value: "http://127.0.0.1:{{ params.port }}/"}<Esc>')
until_there_are({ "readme-parameters" }, "changed")

-- 5. Break it
at("params.port }}/")
keys("f.lcwprot<Esc>")
until_there_are({ "name" }, "broken")
local original = vim.diagnostic.get(0)[1]
local actions = ask("textDocument/codeAction", {
  textDocument = vim.lsp.util.make_text_document_params(),
  range = vim.lsp.util.make_range_params().range,
  context = {
    diagnostics = {
      {
        code = original.code or original.user_data.lsp.code,
        message = original.message,
        data = (original.user_data.lsp or {}).data,
        range = {
          start = { line = original.lnum, character = original.col },
          ["end"] = { line = original.end_lnum, character = original.end_col },
        },
      },
    },
  },
})
shown.actions = vim.tbl_map(function(action) return action.title end, actions or {})
keys("u")
until_there_are({ "readme-parameters" }, "mended")

-- 6. Lint it
open("template.yaml")
at("  cpu-request:")
keys("O" .. "  colour:<CR>    type: string<Esc>")
until_there_are({ "parameter-unbounded", "parameter-undescribed", "parameter-unused", "readme-parameters" }, "linted")
keys("u")
until_there_are({ "readme-parameters" }, "clean")

-- Completion, hover, rename
open("overlay.yaml.j2")
at("params.port }}")
vim.fn.cursor(vim.fn.line("."), vim.fn.col(".") + 7)
local completion = ask("textDocument/completion", vim.lsp.util.make_position_params())
shown.completion = vim.tbl_map(function(item) return item.label end, completion.items or completion)
local hover = ask("textDocument/hover", vim.lsp.util.make_position_params())
shown.hover = hover and hover.contents.value
local params = vim.lsp.util.make_position_params()
params.newName = "listen-port"
vim.lsp.util.apply_workspace_edit(ask("textDocument/rename", params), "utf-16")
until_there_are({ "readme-parameters" }, "renamed")
vim.cmd("wall")

local file = io.open(os.getenv("SHOWN"), "w")
file:write(vim.json and vim.json.encode(shown) or vim.fn.json_encode(shown))
file:close()
vim.cmd("qall!")
