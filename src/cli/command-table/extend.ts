import type { Command, Positional } from "../command.ts"
import { choice, integer, json, text, toggle, yes } from "./flag.ts"

const platform = text("platform", "only for this surface", { value: "NAME" })
const name: Positional = { name: "NAME", summary: "name", required: true }
const skill: Positional = { name: "NAME", summary: "skill", required: true, complete: "skill" }
const toolNames: Positional = {
  name: "NAME",
  summary: "toolset, or server:tool",
  required: true,
  rest: true,
  complete: "toolset",
}

export const EXTEND_COMMANDS: readonly Command[] = [
  {
    name: "tools",
    summary: "enable and disable toolsets per surface",
    group: "extend",
    flags: [toggle("summary", "print the state and exit")],
    subcommands: [
      { name: "list", summary: "list toolsets and tools", group: "extend", flags: [platform] },
      { name: "enable", summary: "enable toolsets", group: "extend", positionals: [toolNames], flags: [platform] },
      { name: "disable", summary: "disable toolsets", group: "extend", positionals: [toolNames], flags: [platform] },
    ],
  },
  {
    name: "skills",
    summary: "list, install and remove skills",
    group: "extend",
    subcommands: [
      {
        name: "list",
        summary: "list skills",
        group: "extend",
        flags: [
          choice("source", "source of the skills", { of: ["all", "hub", "builtin", "local"] }),
          toggle("enabled-only", "only enabled skills"),
        ],
      },
      { name: "inspect", summary: "show a skill before installing it", group: "extend", positionals: [name] },
      {
        name: "install",
        summary: "install a skill",
        group: "extend",
        positionals: [{ name: "ID", summary: "id or address", required: true }],
        flags: [
          text("category", "category directory", { value: "NAME" }),
          text("name", "name of the installed skill", { value: "NAME" }),
          toggle("force", "install despite warnings of the security scan"),
          yes,
        ],
      },
      { name: "uninstall", summary: "remove a skill", group: "extend", positionals: [skill] },
      { name: "enable", summary: "enable a skill", group: "extend", positionals: [skill] },
      { name: "disable", summary: "disable a skill", group: "extend", positionals: [skill] },
      {
        name: "reset",
        summary: "discard local changes of a bundled skill",
        group: "extend",
        positionals: [skill],
        flags: [toggle("restore", "restore the original"), yes],
      },
      {
        name: "opt-out",
        summary: "stop installing bundled skills",
        group: "extend",
        flags: [toggle("remove", "also remove unchanged bundled skills"), yes],
      },
      {
        name: "opt-in",
        summary: "install bundled skills again",
        group: "extend",
        flags: [toggle("sync", "install them now")],
      },
      { name: "config", summary: "set the options of a skill", group: "extend" },
      { name: "browse", summary: "browse the hub", group: "extend" },
      {
        name: "search",
        summary: "search the hub",
        group: "extend",
        positionals: [{ name: "QUERY", summary: "words", required: true, rest: true }],
        flags: [integer("limit", "maximum number of results (10)", { value: "N", min: 1 }), json],
      },
      { name: "check", summary: "check for newer versions", group: "extend" },
      { name: "update", summary: "install newer versions", group: "extend" },
      {
        name: "audit",
        summary: "scan installed skills",
        group: "extend",
        flags: [toggle("deep", "scan every file")],
      },
      { name: "publish", summary: "publish a skill", group: "extend" },
      {
        name: "snapshot",
        summary: "export or import the set of skills",
        group: "extend",
        subcommands: [
          { name: "export", summary: "write the set to a file", group: "extend" },
          { name: "import", summary: "read a set from a file", group: "extend" },
        ],
      },
      {
        name: "tap",
        summary: "manage additional skill sources",
        group: "extend",
        subcommands: [
          { name: "list", summary: "list sources", group: "extend" },
          { name: "add", summary: "add a source", group: "extend" },
          { name: "remove", summary: "remove a source", group: "extend" },
        ],
      },
    ],
  },
  {
    name: "bundles",
    summary: "group skills under one name",
    group: "extend",
    subcommands: ["list", "show", "create", "delete", "reload"].map((verb) => ({
      name: verb,
      summary: `${verb} bundles`,
      group: "extend" as const,
    })),
  },
  {
    name: "plugins",
    summary: "install, enable and disable plugins",
    group: "extend",
    subcommands: [
      {
        name: "install",
        summary: "install a plugin",
        group: "extend",
        positionals: [{ name: "ID", summary: "id or address", required: true }],
        flags: [
          toggle("force", "replace an existing one", { short: "f" }),
          toggle("enable", "enable it", { conflictsWith: ["no-enable"] }),
          toggle("no-enable", "do not enable it"),
        ],
      },
      { name: "update", summary: "update a plugin", group: "extend", positionals: [name] },
      {
        name: "remove",
        aliases: ["rm", "uninstall"],
        summary: "remove a plugin",
        group: "extend",
        positionals: [name],
      },
      {
        name: "list",
        aliases: ["ls"],
        summary: "list plugins",
        group: "extend",
        flags: [
          toggle("enabled", "only enabled plugins"),
          toggle("user", "only user plugins"),
          toggle("no-bundled", "exclude bundled plugins"),
          toggle("plain", "print only names"),
          json,
        ],
      },
      { name: "enable", summary: "enable a plugin", group: "extend", positionals: [name] },
      { name: "disable", summary: "disable a plugin", group: "extend", positionals: [name] },
      {
        name: "create",
        summary: "create a plugin",
        group: "extend",
        positionals: [name],
        flags: [text("kind", "kind of plugin", { value: "KIND" })],
      },
    ],
  },
  {
    name: "hooks",
    summary: "list, test and revoke shell hooks",
    group: "extend",
    subcommands: [
      { name: "list", aliases: ["ls"], summary: "list hooks", group: "extend" },
      {
        name: "test",
        summary: "run the hooks of an event",
        group: "extend",
        positionals: [{ name: "EVENT", summary: "event name", required: true }],
        flags: [
          text("for-tool", "simulate an event of this tool", { value: "TOOL" }),
          text("payload-file", "file with the event data", { value: "FILE", complete: "file" }),
        ],
      },
      {
        name: "revoke",
        summary: "revoke the approval of a command",
        group: "extend",
        positionals: [{ name: "COMMAND", summary: "the command", required: true }],
      },
      { name: "doctor", summary: "check for problems", group: "extend" },
    ],
  },
  {
    name: "mcp",
    summary: "use the tools of MCP servers, or run as one",
    group: "extend",
    subcommands: [
      { name: "list", aliases: ["ls"], summary: "list servers", group: "extend" },
      {
        name: "add",
        summary: "add a server",
        group: "extend",
        positionals: [name],
        flags: [
          text("url", "address of the server", { value: "URL", conflictsWith: ["command"] }),
          text("command", "program to start", { value: "PROGRAM" }),
          text("env", "environment variable for the program", { value: "NAME=VALUE", repeatable: true }),
          choice("auth", "how to log in", { of: ["oauth", "header"] }),
          text("preset", "preset to start from", { value: "NAME" }),
          toggle("force", "save even if the server does not respond"),
          {
            name: "args",
            summary: "arguments for the program: everything after this flag",
            value: { kind: "rest", placeholder: "ARGS…" },
          },
        ],
      },
      { name: "remove", aliases: ["rm"], summary: "remove a server", group: "extend", positionals: [name] },
      { name: "test", summary: "connect and list the tools", group: "extend", positionals: [name] },
      { name: "configure", summary: "choose which tools to use", group: "extend", positionals: [name] },
      { name: "login", summary: "log in to a server", group: "extend", positionals: [name] },
      { name: "catalog", summary: "list known servers", group: "extend" },
      { name: "install", summary: "install a known server", group: "extend", positionals: [name] },
      { name: "serve", summary: "run Hermes as an MCP server on standard input and output", group: "extend" },
    ],
  },
  {
    name: "lsp",
    summary: "manage language servers",
    group: "extend",
    subcommands: [
      {
        name: "status",
        summary: "show the servers of this project and their failures",
        group: "extend",
        flags: [json],
        load: () => import("../commands/lsp/status.ts"),
      },
      {
        name: "list",
        aliases: ["ls"],
        summary: "list all servers and their locations",
        group: "extend",
        flags: [json],
        load: () => import("../commands/lsp/list.ts"),
      },
      {
        name: "install",
        summary: "install language servers from npm into the home",
        details:
          "Without a name, installs the servers that the current project needs. Hermes never installs one during a conversation.",
        group: "extend",
        positionals: [{ name: "NAME", summary: "server, as `lsp list` shows it", required: false, rest: true }],
        load: () => import("../commands/lsp/install.ts"),
      },
      {
        name: "restart",
        summary: "allow failed servers to be started again",
        group: "extend",
        positionals: [{ name: "NAME", summary: "only this server", required: false }],
        load: () => import("../commands/lsp/restart.ts"),
      },
    ],
  },
  {
    name: "curator",
    summary: "keep the skill collection tidy",
    group: "extend",
    subcommands: [
      "status",
      "run",
      "pause",
      "resume",
      "pin",
      "unpin",
      "archive",
      "restore",
      "rollback",
      "prune",
      "list-archived",
    ].map((verb) => ({ name: verb, summary: `${verb.replace("-", " ")} skills`, group: "extend" as const })),
  },
  { name: "computer-use", summary: "let the agent use the desktop", group: "extend" },
]
