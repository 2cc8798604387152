"""Names that apps give their containers."""

from __future__ import annotations

#: What people call the container of an app.
APPS = frozenset(
    {
        "api",
        "app",
        "application",
        "backend",
        "container",
        "frontend",
        "job",
        "main",
        "server",
        "service",
        "web",
        "worker",
    }
)
#: Programs that are apps in pods of their own, where their container is called as they are: data stores, brokers,
#: web servers. Proxies and shippers of logs, which are beside an app more often, are not among them.
PROGRAMS = frozenset(
    {
        "cassandra",
        "consul",
        "elasticsearch",
        "etcd",
        "grafana",
        "httpd",
        "influxdb",
        "kafka",
        "mariadb",
        "memcached",
        "minio",
        "mongo",
        "mongodb",
        "mysql",
        "nats",
        "postgres",
        "postgresql",
        "prometheus",
        "rabbitmq",
        "redis",
        "tomcat",
        "valkey",
        "vault",
        "zookeeper",
    }
)
