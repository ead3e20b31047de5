import type { Command, Positional } from "../command.ts"
import { choice, integer, json, text, toggle, yes } from "./flag.ts"

const platform = text("platform", "for this surface only", { value: "NAME" })
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
    summary: "switch toolsets on and off per surface",
    group: "extend",
    flags: [toggle("summary", "print the state and end")],
    subcommands: [
      { name: "list", summary: "list toolsets and tools", group: "extend", flags: [platform] },
      { name: "enable", summary: "switch on", group: "extend", positionals: [toolNames], flags: [platform] },
      { name: "disable", summary: "switch off", group: "extend", positionals: [toolNames], flags: [platform] },
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
          choice("source", "where they come from", { of: ["all", "hub", "builtin", "local"] }),
          toggle("enabled-only", "leave disabled ones out"),
        ],
      },
      { name: "inspect", summary: "show a skill before you install it", group: "extend", positionals: [name] },
      {
        name: "install",
        summary: "install a skill",
        group: "extend",
        positionals: [{ name: "ID", summary: "id or address", required: true }],
        flags: [
          text("category", "folder to put it in", { value: "NAME" }),
          text("name", "name to give it", { value: "NAME" }),
          toggle("force", "install although the scan complains"),
          yes,
        ],
      },
      { name: "uninstall", summary: "remove a skill", group: "extend", positionals: [skill] },
      { name: "enable", summary: "switch a skill on", group: "extend", positionals: [skill] },
      { name: "disable", summary: "switch a skill off", group: "extend", positionals: [skill] },
      {
        name: "reset",
        summary: "forget local changes of a bundled skill",
        group: "extend",
        positionals: [skill],
        flags: [toggle("restore", "put the original back"), yes],
      },
      {
        name: "opt-out",
        summary: "stop seeding bundled skills",
        group: "extend",
        flags: [toggle("remove", "also remove the unchanged ones"), yes],
      },
      { name: "opt-in", summary: "seed bundled skills again", group: "extend", flags: [toggle("sync", "do it now")] },
      { name: "config", summary: "set what a skill asks for", group: "extend" },
      { name: "browse", summary: "look around in the hub", group: "extend" },
      {
        name: "search",
        summary: "search the hub",
        group: "extend",
        positionals: [{ name: "QUERY", summary: "words", required: true, rest: true }],
        flags: [integer("limit", "at most this many (10)", { value: "N", min: 1 }), json],
      },
      { name: "check", summary: "look for newer versions", group: "extend" },
      { name: "update", summary: "install newer versions", group: "extend" },
      {
        name: "audit",
        summary: "scan installed skills",
        group: "extend",
        flags: [toggle("deep", "look at every file")],
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
        summary: "manage further sources of skills",
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
    summary: "install and switch plugins",
    group: "extend",
    subcommands: [
      {
        name: "install",
        summary: "install a plugin",
        group: "extend",
        positionals: [{ name: "ID", summary: "id or address", required: true }],
        flags: [
          toggle("force", "replace one that exists", { short: "f" }),
          toggle("enable", "switch it on", { conflictsWith: ["no-enable"] }),
          toggle("no-enable", "leave it off"),
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
          toggle("enabled", "only those that are on"),
          toggle("user", "only your own"),
          toggle("no-bundled", "leave bundled ones out"),
          toggle("plain", "names only"),
          json,
        ],
      },
      { name: "enable", summary: "switch a plugin on", group: "extend", positionals: [name] },
      { name: "disable", summary: "switch a plugin off", group: "extend", positionals: [name] },
      {
        name: "create",
        summary: "start a plugin of your own",
        group: "extend",
        positionals: [name],
        flags: [text("kind", "kind of plugin", { value: "KIND" })],
      },
    ],
  },
  {
    name: "hooks",
    summary: "look at, test and revoke shell hooks",
    group: "extend",
    subcommands: [
      { name: "list", aliases: ["ls"], summary: "list hooks", group: "extend" },
      {
        name: "test",
        summary: "run the hooks of an event",
        group: "extend",
        positionals: [{ name: "EVENT", summary: "event name", required: true }],
        flags: [
          text("for-tool", "as if for this tool", { value: "TOOL" }),
          text("payload-file", "event data", { value: "FILE", complete: "file" }),
        ],
      },
      {
        name: "revoke",
        summary: "withdraw the approval of a command",
        group: "extend",
        positionals: [{ name: "COMMAND", summary: "the command", required: true }],
      },
      { name: "doctor", summary: "look for problems", group: "extend" },
    ],
  },
  {
    name: "mcp",
    summary: "use tools of MCP servers, or be one",
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
          text("env", "variable for the program", { value: "NAME=VALUE", repeatable: true }),
          choice("auth", "how to log in", { of: ["oauth", "header"] }),
          text("preset", "known server to start from", { value: "NAME" }),
          toggle("force", "save although the server does not answer"),
          {
            name: "args",
            summary: "everything after it goes to the program",
            value: { kind: "rest", placeholder: "ARGS…" },
          },
        ],
      },
      { name: "remove", aliases: ["rm"], summary: "remove a server", group: "extend", positionals: [name] },
      { name: "test", summary: "connect and list its tools", group: "extend", positionals: [name] },
      { name: "configure", summary: "choose which of its tools to use", group: "extend", positionals: [name] },
      { name: "login", summary: "log in to a server", group: "extend", positionals: [name] },
      { name: "catalog", summary: "list known servers", group: "extend" },
      { name: "install", summary: "install a known server", group: "extend", positionals: [name] },
      { name: "serve", summary: "offer Hermes itself as an MCP server on standard input and output", group: "extend" },
    ],
  },
  {
    name: "lsp",
    summary: "manage language servers",
    group: "extend",
    subcommands: [
      {
        name: "status",
        summary: "show the servers of this project, and which failed",
        group: "extend",
        flags: [json],
        load: () => import("../commands/lsp/status.ts"),
      },
      {
        name: "list",
        aliases: ["ls"],
        summary: "list all servers and where they were found",
        group: "extend",
        flags: [json],
        load: () => import("../commands/lsp/list.ts"),
      },
      {
        name: "install",
        summary: "install servers that are npm packages into the home",
        details:
          "Without a name: what the project you are in needs. Hermes itself never installs one during a conversation.",
        group: "extend",
        positionals: [{ name: "NAME", summary: "server, as `lsp list` shows it", required: false, rest: true }],
        load: () => import("../commands/lsp/install.ts"),
      },
      {
        name: "restart",
        summary: "let servers that failed be started again",
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
