import type { Command, Positional } from "../command.ts"
import { choice, integer, json, text, toggle } from "./flag.ts"

const platform: Positional = { name: "PLATFORM", summary: "chat platform", required: true }
const system = toggle("system", "use the system-wide service")
const all = toggle("all", "apply to every profile")

export const CONNECT_COMMANDS: readonly Command[] = [
  {
    name: "gateway",
    summary: "connect chat platforms",
    group: "connect",
    subcommands: [
      {
        name: "run",
        summary: "run in the foreground",
        group: "connect",
        flags: [
          toggle("quiet", "print less", { short: "q" }),
          toggle("replace", "replace a running gateway"),
          toggle("force", "start even if one seems to be running"),
        ],
      },
      { name: "start", summary: "start the service", group: "connect", flags: [all, system] },
      { name: "stop", summary: "stop the service", group: "connect", flags: [all, system] },
      { name: "restart", summary: "restart the service", group: "connect", flags: [all, system] },
      {
        name: "status",
        summary: "show the state of the service",
        group: "connect",
        flags: [
          toggle("deep", "also test the platforms"),
          toggle("logs", "also show the last log lines", { short: "l" }),
        ],
      },
      {
        name: "install",
        summary: "install the service",
        group: "connect",
        flags: [
          toggle("force", "replace an existing one"),
          system,
          text("run-as-user", "user account of the service", { value: "USER" }),
        ],
      },
      { name: "uninstall", summary: "remove the service", group: "connect" },
      { name: "list", summary: "list the gateways of all profiles", group: "connect" },
      { name: "setup", summary: "connect a platform", group: "connect" },
    ],
  },
  {
    name: "send",
    summary: "send a message to a chat",
    group: "connect",
    positionals: [
      { name: "TEXT", summary: "the message; read from standard input when omitted", required: false, rest: true },
    ],
    flags: [
      text("target", "platform and chat", { short: "t", value: "TARGET" }),
      text("file", "attach a file", { short: "f", value: "FILE", complete: "file" }),
      text("subject", "subject line", { short: "s", value: "TEXT" }),
      toggle("list", "list known targets", { short: "l" }),
      toggle("quiet", "print nothing", { short: "q" }),
      json,
    ],
  },
  {
    name: "webhook",
    summary: "start runs from webhooks",
    group: "connect",
    subcommands: [
      {
        name: "subscribe",
        summary: "add a route",
        group: "connect",
        positionals: [{ name: "NAME", summary: "route", required: true }],
        flags: [
          text("events", "events to handle", { value: "LIST" }),
          text("prompt", "what to do", { value: "TEXT" }),
          text("deliver", "where to send the answer", { value: "TARGET" }),
          text("secret", "shared secret", { value: "TEXT" }),
        ],
      },
      { name: "list", summary: "list routes", group: "connect", flags: [json] },
      { name: "remove", summary: "remove a route", group: "connect" },
      {
        name: "test",
        summary: "send a test request to a route",
        group: "connect",
        flags: [text("payload", "JSON to send", { value: "JSON" })],
      },
    ],
  },
  {
    name: "pairing",
    summary: "manage who may message the agent",
    group: "connect",
    subcommands: [
      { name: "list", summary: "list requests and approved users", group: "connect" },
      {
        name: "approve",
        summary: "approve a request",
        group: "connect",
        positionals: [platform, { name: "CODE", summary: "pairing code", required: true }],
      },
      {
        name: "revoke",
        summary: "revoke an approval",
        group: "connect",
        positionals: [platform, { name: "USER", summary: "user id", required: true }],
      },
      {
        name: "clear-pending",
        summary: "remove pending requests",
        group: "connect",
        positionals: [{ ...platform, required: false }],
      },
    ],
  },
  {
    name: "acp",
    summary: "work inside an editor (Agent Client Protocol)",
    group: "connect",
    flags: [
      toggle("check", "check whether it would start"),
      toggle("setup", "show how to set up the editor"),
      toggle("version", "show the protocol version"),
    ],
  },
  {
    name: "dashboard",
    summary: "open the web interface",
    group: "connect",
    flags: [
      integer("port", "port (9119); 0 for any free port", { value: "N", min: 0, max: 65_535 }),
      text("host", "address to listen on (127.0.0.1)", { value: "HOST" }),
      toggle("no-open", "do not open the browser"),
      toggle("insecure", "allow access from other machines without a login"),
      toggle("isolated", "show only this profile"),
      toggle("stop", "stop the running dashboard"),
      toggle("status", "show whether it is running"),
    ],
  },
  {
    name: "proxy",
    summary: "serve your model to other programs (OpenAI-compatible)",
    group: "connect",
    subcommands: [
      { name: "start", summary: "start the proxy on 127.0.0.1:8645", group: "connect" },
      { name: "status", summary: "show whether it is running", group: "connect" },
      { name: "providers", summary: "list the available providers", group: "connect" },
    ],
  },
  {
    name: "node",
    summary: "run this machine as a worker of a shared database",
    group: "connect",
    flags: [
      text("roles", "roles of this machine", { value: "LIST" }),
      text("labels", "labels of this machine", { value: "NAME=VALUE,…" }),
    ],
  },
  {
    name: "db",
    summary: "migrate between SQLite and PostgreSQL",
    group: "connect",
    subcommands: [
      {
        name: "migrate",
        summary: "copy all data to the other database",
        group: "connect",
        flags: [choice("to", "target database", { of: ["postgres", "sqlite"] })],
      },
    ],
  },
  { name: "portal", summary: "connect to the hosted portal", group: "connect" },
  { name: "slack", summary: "set up Slack", group: "connect" },
  { name: "whatsapp", summary: "set up WhatsApp", group: "connect" },
]
