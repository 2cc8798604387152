"""Which syntax a text file has, by its name; and what to do about one whose name does not tell."""

from __future__ import annotations

import re
from collections.abc import Iterable

from injector.errors import FaultError

_BY_NAME = tuple(
    (re.compile(pattern), syntax)
    for pattern, syntax in (
        (r"\.(?:hcl|nomad|tf|tfvars)\Z", "hcl"),
        (r"\.(?:js|json[5c]?)\Z", "json"),
        (r"\.toml\Z", "toml"),
        (r"\.lua\Z", "lua"),
        (r"nginx.*\.conf\Z|\.nginx\Z", "nginx"),
        (r"\.(?:bash|sh)\Z", "sh"),
        (r"\.(?:iptables|rules)\Z", "iptables"),
        (r"(?:\A|\.)env\Z", "env"),
        (r"\.properties\Z", "properties"),
        (r"\.xml\Z", "xml"),
        (r"\.ini\Z", "ini"),
        (r"\.(?:md|txt)\Z", "plain"),
    )
)
#: Files of well-known programs whose names tell no syntax to the injector: the one that suits them best.
_OF_PROGRAMS = tuple(
    (re.compile(pattern), syntax)
    for pattern, syntax in (
        (r"(?:fluent-?bit|parsers|supervisord?|stunnel|my|php-fpm|odbc|pgbouncer)\.(?:conf|cnf|cfg)\Z", "ini"),
        (r"(?:setup|tox|ansible|logging|uwsgi)\.cfg\Z|\.(?:service|timer|socket|desktop|cnf)\Z", "ini"),
        (r"(?:telegraf|influxdb|containerd|traefik)\.(?:conf|cfg)\Z", "toml"),
        (r"(?:kafka|zoo(?:keeper)?|log4j2?)\.(?:conf|cfg)\Z", "properties"),
        (r"(?:default|site|proxy|upstream|server)\.conf\Z", "nginx"),
        (r"(?:haproxy|fluentd?|td-agent|redis|valkey|httpd|apache2?|squid|rsyslog|syslog-ng|unbound|dnsmasq|postgresql|"
         r"pg_hba|mosquitto|nats|chrony|ntp|varnish|keepalived|collectd)\.(?:conf|cfg|vcl)\Z", "plain"),
        (r"(?:Caddyfile|Corefile)\Z", "plain"),
    )
)  # fmt: skip


class UnknownSyntaxError(FaultError):
    """A value that only a file of a known syntax can hold: what is wrong, and what to do once the syntax is named."""

    def __init__(self, words: str, known: Iterable[str], then: str = "") -> None:
        self._words, self._known, self._then = words, sorted(known), then
        super().__init__(self.of(""))

    def of(self, source: str) -> str:
        """What is wrong with the source of a file, and what to do."""
        file = source.removesuffix(".j2")
        meant = next((syntax for pattern, syntax in _OF_PROGRAMS if pattern.search(file)), "")
        if meant:
            return f"{self._words}; write `{file}: {{syntax: {meant}}}` below `files:` in template.yaml{self._then}"
        name_it = "name it in template.yaml, as `syntax:` of the file"
        rest = "" if self._then else f": one of {', '.join(self._known)} (ini and plain write the value without quotes)"
        return f"{self._words}; {name_it}{self._then}{rest}"


def syntax_of(file: str) -> str:
    """The syntax that the name of a file tells, "" where it tells none."""
    return next((syntax for pattern, syntax in _BY_NAME if pattern.search(file)), "")
