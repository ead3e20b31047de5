import { PERSON } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import { hasFlag, subcommands, upstream } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"

const CONTAINERS = ["docker", "podman", "nerdctl"]
const words = (call: Invocation): readonly string[] => subcommands(call)
const says = (call: Invocation, pattern: RegExp): boolean => call.words.some(({ text }) => pattern.test(text))
const first = (call: Invocation, ...names: readonly string[]): boolean => names.includes(words(call)[0] ?? "")
const isComposeAction = (call: Invocation): boolean => {
  const found = words(call)
  const actions = call.program.endsWith("-compose") ? found : found[0] === "compose" ? found.slice(1) : []
  return ["restart", "stop", "kill", "down", "rm"].includes(actions[0] ?? "")
}

const REDIS_DELETES = /^(?:flushall|flushdb|shutdown|debug)\b/iu

/** `yarn npm tag add`. */
const registryWords = (call: Invocation): readonly string[] =>
  call.program === "yarn" && words(call)[0] === "npm" ? words(call).slice(1) : words(call)

/** Subcommands of package managers that change packages, accounts, teams or settings on a registry. */
const CHANGES_REGISTRY: ReadonlySet<string> = new Set(
  "unpublish deprecate undeprecate yank unyank owner owners author access dist-tag dist-tags tag login adduser add-user logout hook star unstar team org ogr profile token trust signin signout".split(
    " ",
  ),
)

/** Containers, clusters, clouds and databases: what no checkpoint on this machine restores. */
export const SERVICE_RULES: readonly CommandRule[] = [
  {
    key: "docker compose restart/stop/kill/down (container lifecycle)",
    programs: [...CONTAINERS, "docker-compose", "podman-compose"],
    when: isComposeAction,
    does: "stops or removes containers",
    effects: PERSON,
  },
  {
    key: "docker restart/stop/kill (container lifecycle)",
    programs: CONTAINERS,
    when: (call) =>
      first(call, "restart", "stop", "kill") ||
      (first(call, "container") && ["restart", "stop", "kill"].includes(words(call)[1] ?? "")),
    does: "stops or restarts containers",
    effects: PERSON,
  },
  {
    key: "delete containers, images or volumes",
    programs: CONTAINERS,
    when: (call) => {
      const [group = "", action = ""] = words(call)
      return (
        action === "prune" ||
        (["volume", "network", "secret", "config", "stack", "service", "swarm", "context"].includes(group) &&
          ["rm", "remove", "leave"].includes(action)) ||
        (group === "rm" && hasFlag(call, /^-[a-z]*[fv]|^--(?:force|volumes)/u)) ||
        (group === "container" && action === "rm" && hasFlag(call, /^-[a-z]*[fv]/u)) ||
        (group === "rmi" && hasFlag(call, /^-[a-z]*f/u)) ||
        (group === "system" && action === "reset")
      )
    },
    does: "deletes containers, images or volumes",
    effects: PERSON,
  },
  {
    key: "delete from a cluster",
    programs: [
      "kubectl",
      "oc",
      "k",
      "helm",
      "k3s",
      "kind",
      "minikube",
      "eksctl",
      "argocd",
      "istioctl",
      "nomad",
      "consul",
      "etcdctl",
    ],
    when: (call) =>
      (words(call)
        .slice(0, 2)
        .some((word) =>
          [
            "delete",
            "drain",
            "uninstall",
            "del",
            "rollback",
            "replace",
            "cordon",
            "taint",
            "destroy",
            "purge",
            "stop",
          ].includes(word),
        ) &&
        !says(call, /^--dry-run/u)) ||
      says(call, /^--replicas=0$/u),
    does: "deletes, stops or blocks something in a cluster",
    effects: PERSON,
  },
  {
    key: "destroy infrastructure",
    programs: [
      "terraform",
      "tofu",
      "terragrunt",
      "pulumi",
      "cdk",
      "serverless",
      "sls",
      "sam",
      "vagrant",
      "ansible-playbook",
      "heroku",
      "fly",
      "flyctl",
      "vercel",
      "netlify",
      "railway",
      "wrangler",
      "firebase",
      "supabase",
      "doctl",
      "linode-cli",
      "hcloud",
      "scw",
      "cf",
    ],
    when: (call) =>
      words(call).some(
        (word, index) =>
          index < 4 &&
          /^(?:destroy|down|remove|delete|rm|apps:destroy|pg:reset|\S+:(?:destroy|delete|remove|reset)|terminate|reset)$/u.test(
            word,
          ),
      ) ||
      (["terraform", "tofu", "terragrunt"].includes(call.program) &&
        (says(call, /^-destroy$/u) ||
          (words(call)[0] === "state" && ["rm", "push", "replace-provider"].includes(words(call)[1] ?? "")) ||
          first(call, "force-unlock", "taint"))),
    does: "destroys infrastructure",
    effects: PERSON,
  },
  {
    key: "delete from a cloud",
    programs: ["aws", "gcloud", "gsutil", "az", "s3cmd", "rclone", "mc", "ibmcloud", "oci", "b2", "aliyun", "bq"],
    when: (call) =>
      words(call).some(
        (word, index) =>
          index < 5 &&
          /^(?:rm|rb|del|delete|deletefile|purge|cleanup|remove|terminate-\S+|delete-\S+|deregister-\S+|stop-instances|rmdirs)$/u.test(
            word,
          ),
      ),
    does: "deletes or stops something in a cloud",
    effects: PERSON,
  },
  {
    key: "change who may do what on a server",
    programs: ["aws", "gcloud", "gsutil", "az"],
    when: (call) =>
      words(call).some(
        (word, index) =>
          index < 5 &&
          /^(?:put-\S*policy|attach-\S+-policy|create-(?:access-key|login-profile|service-linked-role)|update-assume-role-policy|(?:add|set)-iam-policy(?:-binding)?|authorize-security-group-\S+)$/u.test(
            word,
          ),
      ),
    does: "changes accounts or rights in a cloud",
    effects: PERSON,
  },
  {
    key: "delete a database",
    programs: [
      "dropdb",
      "dropuser",
      "redis-cli",
      "mongo",
      "mongosh",
      "mysqladmin",
      "valkey-cli",
      "sqlite3",
      "cqlsh",
      "influx",
      "clickhouse-client",
      "curl",
      "rails",
      "rake",
      "artisan",
      "alembic",
      "prisma",
      "npx",
      "bundle",
      "php",
      "sequelize",
      "knex",
      "flyway",
      "liquibase",
      "django-admin",
      "pg_restore",
      "mongorestore",
      "dotnet",
      "kafka-topics",
      "kafka-topics.sh",
      "rabbitmqctl",
      "vault",
      "python",
      "python3",
    ],
    when: (call) =>
      call.program.startsWith("drop") ||
      (["redis-cli", "valkey-cli"].includes(call.program) &&
        (says(call, REDIS_DELETES) ||
          upstream(call.command, call.understood).some(({ argv }) =>
            argv.some(({ text }) => REDIS_DELETES.test(text)),
          ))) ||
      says(call, /\bdrop(?:Database|Collection)?\s*\(|\.(?:deleteMany|remove)\s*\(\s*(?:\{\s*\})?\s*\)/u) ||
      (call.program === "mysqladmin" && says(call, /^(?:drop|shutdown)$/u)) ||
      says(call, /^(?:db:(?:drop|reset|purge|wipe|fresh)|migrate:(?:fresh|reset)|migrate:refresh)/u) ||
      (call.program === "dotnet" && /^ef database drop\b/u.test(words(call).slice(0, 3).join(" "))) ||
      (call.program === "alembic" && first(call, "downgrade")) ||
      (call.program.startsWith("kafka-topics") && hasFlag(call, /^--delete$/u)) ||
      (call.program === "rabbitmqctl" &&
        first(call, "reset", "force_reset", "delete_queue", "purge_queue", "delete_vhost")) ||
      (call.program === "vault" &&
        (first(call, "delete") ||
          /^(?:kv|secrets|auth) (?:delete|destroy|disable|metadata)\b/u.test(words(call).slice(0, 2).join(" ")))) ||
      (call.program === "mongorestore" && hasFlag(call, /^--drop$/u)) ||
      (call.program === "influx" && first(call, "delete")) ||
      (/^(?:python3?|django-admin)$/u.test(call.program) &&
        call.operands.some(({ text }, index) => index < 2 && /^(?:flush|reset_db|sqlflush)$/u.test(text)) &&
        (call.program === "django-admin" || call.operands[0]?.text.endsWith("manage.py") === true)) ||
      (call.program === "pg_restore" && hasFlag(call, /^-[a-z]*c|^--clean/u)) ||
      (says(call, /^prisma$/u) || call.program === "prisma"
        ? says(call, /^reset$/u) || says(call, /^--(?:force-reset|accept-data-loss)$/u)
        : false) ||
      (["flyway", "liquibase"].includes(call.program) && says(call, /^(?:clean|drop-all)$/u)),
    does: "deletes a database or data of a server",
    effects: PERSON,
  },
  {
    key: "change who may do what on a server",
    programs: ["kubectl", "oc", "createuser", "psql", "mysql", "mariadb"],
    when: (call) =>
      call.program === "createuser" ||
      says(call, /^(?:cluster)?rolebinding$|^certificatesigningrequest/u) ||
      says(
        call,
        /\b(?:grant\s+[\w ,]{1,80}\s+(?:on|to)\s|alter\s+(?:user|role)\s|create\s+(?:user|role)\s|into\s+(?:out|dump)file\b)/iu,
      ),
    does: "changes accounts, rights or data of a server",
    effects: PERSON,
  },
  {
    key: "switch to another container service or cluster",
    programs: [...CONTAINERS, "kubectl", "oc"],
    when: (call) =>
      (CONTAINERS.includes(call.program) && first(call, "context") && words(call)[1] === "use") ||
      (first(call, "config") &&
        ["use-context", "set-cluster", "set-credentials", "set-context"].includes(words(call)[1] ?? "")),
    does: "changes where later commands act",
    effects: PERSON,
  },
  {
    key: "change a database server",
    programs: ["redis-cli", "valkey-cli"],
    when: (call) =>
      says(call, /^(?:module|eval|evalsha|function|slaveof|replicaof|failover|acl)$/iu) ||
      (says(call, /^config$/iu) && says(call, /^(?:set|rewrite)$/iu)),
    does: "changes settings or code of a database server",
    effects: PERSON,
  },
  {
    key: "delete by HTTP request",
    programs: ["curl", "http", "https", "xh"],
    when: (call) =>
      (call.program === "curl"
        ? says(call, /^-X\s?DELETE$|^--request=DELETE$/iu) ||
          call.words.some(
            ({ text }, index) =>
              /^(?:-X|--request)$/u.test(text) && /^delete$/iu.test(call.words[index + 1]?.text ?? ""),
          )
        : first(call, "DELETE")) && !says(call, /\/\/(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\])\b/u),
    does: "deletes something on another machine",
    effects: PERSON,
  },
  {
    key: "unpublish a package",
    programs: ["npm", "yarn", "pnpm", "cargo", "gem"],
    when: (call) =>
      CHANGES_REGISTRY.has(registryWords(call)[0] ?? "") &&
      !/^(?:ls|list|get)$/u.test(registryWords(call)[1] ?? "") &&
      !hasFlag(call, /^(?:--help|-h)$/u),
    does: "changes what a registry offers or who may change it",
    effects: PERSON,
  },
]
