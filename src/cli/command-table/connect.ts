import type { Command, Positional } from "../command.ts"
import { choice, integer, json, text, toggle } from "./flag.ts"

const platform: Positional = { name: "PLATFORM", summary: "chat platform", required: true }
const system = toggle("system", "the service of the whole machine")
const all = toggle("all", "of every profile")

export const CONNECT_COMMANDS: readonly Command[] = [
  {
    name: "gateway",
    summary: "be reachable from chat platforms",
    group: "connect",
    subcommands: [
      {
        name: "run",
        summary: "run in this terminal",
        group: "connect",
        flags: [
          toggle("quiet", "write less", { short: "q" }),
          toggle("replace", "take over from a running one"),
          toggle("force", "start although one seems to run"),
        ],
      },
      { name: "start", summary: "start the service", group: "connect", flags: [all, system] },
      { name: "stop", summary: "stop the service", group: "connect", flags: [all, system] },
      { name: "restart", summary: "restart the service", group: "connect", flags: [all, system] },
      {
        name: "status",
        summary: "show the service",
        group: "connect",
        flags: [toggle("deep", "also ask the platforms"), toggle("logs", "also the last log lines", { short: "l" })],
      },
      {
        name: "install",
        summary: "install the service",
        group: "connect",
        flags: [
          toggle("force", "replace one that exists"),
          system,
          text("run-as-user", "account of the service", { value: "USER" }),
        ],
      },
      { name: "uninstall", summary: "remove the service", group: "connect" },
      { name: "list", summary: "list gateways of all profiles", group: "connect" },
      { name: "setup", summary: "connect a platform", group: "connect" },
    ],
  },
  {
    name: "send",
    summary: "send a message to a chat",
    group: "connect",
    positionals: [{ name: "TEXT", summary: "the message; standard input without it", required: false, rest: true }],
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
    summary: "start runs from web hooks",
    group: "connect",
    subcommands: [
      {
        name: "subscribe",
        summary: "add a route",
        group: "connect",
        positionals: [{ name: "NAME", summary: "route", required: true }],
        flags: [
          text("events", "events to act on", { value: "LIST" }),
          text("prompt", "what to do", { value: "TEXT" }),
          text("deliver", "where the answer goes", { value: "TARGET" }),
          text("secret", "shared secret", { value: "TEXT" }),
        ],
      },
      { name: "list", summary: "list routes", group: "connect", flags: [json] },
      { name: "remove", summary: "remove a route", group: "connect" },
      {
        name: "test",
        summary: "send a test to a route",
        group: "connect",
        flags: [text("payload", "JSON to send", { value: "JSON" })],
      },
    ],
  },
  {
    name: "pairing",
    summary: "decide who may write to the agent",
    group: "connect",
    subcommands: [
      { name: "list", summary: "list requests and approved people", group: "connect" },
      {
        name: "approve",
        summary: "approve a request",
        group: "connect",
        positionals: [platform, { name: "CODE", summary: "pairing code", required: true }],
      },
      {
        name: "revoke",
        summary: "withdraw an approval",
        group: "connect",
        positionals: [platform, { name: "USER", summary: "user id", required: true }],
      },
      {
        name: "clear-pending",
        summary: "drop open requests",
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
      toggle("check", "say whether it would start"),
      toggle("setup", "show how to set the editor up"),
      toggle("version", "show the protocol version"),
    ],
  },
  {
    name: "dashboard",
    summary: "open the web interface",
    group: "connect",
    flags: [
      integer("port", "port (9119); 0 takes a free one", { value: "N", min: 0, max: 65_535 }),
      text("host", "address to listen on (127.0.0.1)", { value: "HOST" }),
      toggle("no-open", "do not open the browser"),
      toggle("insecure", "allow other machines without a login"),
      toggle("isolated", "only this profile"),
      toggle("stop", "stop a running one"),
      toggle("status", "say whether one runs"),
    ],
  },
  {
    name: "proxy",
    summary: "offer your model to other programs (OpenAI-compatible)",
    group: "connect",
    subcommands: [
      { name: "start", summary: "start it on 127.0.0.1:8645", group: "connect" },
      { name: "status", summary: "show whether it runs", group: "connect" },
      { name: "providers", summary: "list what it can reach", group: "connect" },
    ],
  },
  {
    name: "node",
    summary: "serve a shared database as one of several machines",
    group: "connect",
    flags: [
      text("roles", "what this machine does", { value: "LIST" }),
      text("labels", "labels of this machine", { value: "NAME=VALUE,…" }),
    ],
  },
  {
    name: "db",
    summary: "move between SQLite and PostgreSQL",
    group: "connect",
    subcommands: [
      {
        name: "migrate",
        summary: "copy everything to the other engine",
        group: "connect",
        flags: [choice("to", "target engine", { of: ["postgres", "sqlite"] })],
      },
    ],
  },
  { name: "portal", summary: "connect to the hosted portal", group: "connect" },
  { name: "slack", summary: "set up Slack", group: "connect" },
  { name: "whatsapp", summary: "set up WhatsApp", group: "connect" },
]
