import type { Command, Positional } from "../command.ts"
import { choice, decimal, integer, json, text, toggle, yes } from "./flag.ts"

const key: Positional = {
  name: "KEY",
  summary: "setting, for example agent.max_turns",
  required: true,
  complete: "setting",
}
const profile: Positional = { name: "NAME", summary: "profile", required: true, complete: "profile" }
const provider: Positional = { name: "PROVIDER", summary: "provider id", required: true, complete: "provider" }
const origin = toggle("origin", "say where each value comes from")

const configCommands: readonly Command[] = [
  {
    name: "show",
    summary: "show the settings in force",
    group: "settings",
    flags: [json, origin],
    load: () => import("../commands/config/show.ts"),
  },
  {
    name: "get",
    summary: "print one value",
    group: "settings",
    positionals: [key],
    load: () => import("../commands/config/get.ts"),
  },
  {
    name: "set",
    summary: "change one value; keys and tokens go to .env",
    group: "settings",
    positionals: [key, { name: "VALUE", summary: "true, 5, 0.5, null, text, or JSON", required: true }],
    load: () => import("../commands/config/set.ts"),
  },
  {
    name: "unset",
    summary: "remove one value from your file",
    group: "settings",
    positionals: [key],
    load: () => import("../commands/config/unset.ts"),
  },
  {
    name: "edit",
    summary: "open config.yaml in your editor",
    group: "settings",
    load: () => import("../commands/config/edit.ts"),
  },
  {
    name: "path",
    summary: "print where config.yaml is",
    group: "settings",
    load: () => import("../commands/config/path.ts"),
  },
  {
    name: "env-path",
    summary: "print where .env is",
    group: "settings",
    load: () => import("../commands/config/path.ts"),
  },
  {
    name: "check",
    summary: "look for mistakes in the configuration",
    group: "settings",
    load: () => import("../commands/config/check.ts"),
  },
  {
    name: "migrate",
    summary: "bring config.yaml to the current version",
    group: "settings",
    flags: [yes],
    load: () => import("../commands/config/migrate.ts"),
  },
]

const profileCommands: readonly Command[] = [
  {
    name: "list",
    aliases: ["ls"],
    summary: "list profiles",
    group: "settings",
    flags: [json],
    load: () => import("../commands/profile/list.ts"),
  },
  {
    name: "show",
    summary: "show one profile",
    group: "settings",
    positionals: [{ ...profile, required: false }],
    flags: [json],
    load: () => import("../commands/profile/show.ts"),
  },
  {
    name: "create",
    summary: "make a profile: a home of its own",
    group: "settings",
    positionals: [{ name: "NAME", summary: "lower-case letters, digits, - and _", required: true }],
    flags: [
      toggle("clone", "copy settings, keys, persona, skills and memory of the current profile", {
        conflictsWith: ["no-skills"],
      }),
      toggle("clone-all", "copy everything but history", { conflictsWith: ["no-skills"] }),
      text("clone-from", "copy from this profile", {
        value: "NAME",
        complete: "profile",
        conflictsWith: ["no-skills"],
      }),
      toggle("no-alias", "do not make a command of that name"),
      toggle("no-skills", "start without the bundled skills"),
      text("description", "what the profile is for", { value: "TEXT" }),
    ],
    load: () => import("../commands/profile/create.ts"),
  },
  {
    name: "use",
    summary: "make a profile the one that starts without -p",
    group: "settings",
    positionals: [profile],
    load: () => import("../commands/profile/use.ts"),
  },
  {
    name: "describe",
    summary: "show or set what a profile is for",
    group: "settings",
    positionals: [{ ...profile, required: false }],
    flags: [
      text("text", "the description", { value: "TEXT", conflictsWith: ["auto"] }),
      toggle("auto", "let the model write it", { later: true }),
      toggle("overwrite", "replace one that exists"),
      toggle("all", "every profile without one", { later: true }),
    ],
    load: () => import("../commands/profile/describe.ts"),
  },
  {
    name: "rename",
    summary: "give a profile another name",
    group: "settings",
    positionals: [profile, { name: "NEW", summary: "new name", required: true }],
    load: () => import("../commands/profile/rename.ts"),
  },
  {
    name: "delete",
    aliases: ["rm"],
    summary: "delete a profile and everything in it",
    group: "settings",
    positionals: [profile],
    flags: [yes],
    load: () => import("../commands/profile/delete.ts"),
  },
  {
    name: "export",
    summary: "pack a profile without its keys",
    group: "settings",
    positionals: [profile],
    flags: [text("output", "file to write", { short: "o", value: "FILE", complete: "file" })],
    load: () => import("../commands/profile/export.ts"),
  },
  {
    name: "import",
    summary: "unpack a profile",
    group: "settings",
    positionals: [{ name: "ARCHIVE", summary: "file written by `profile export`", required: true, complete: "file" }],
    flags: [text("name", "name of the new profile", { value: "NAME" })],
    load: () => import("../commands/profile/import.ts"),
  },
  { name: "install", summary: "install a shared profile", group: "settings" },
  { name: "update", summary: "update a shared profile", group: "settings" },
  { name: "info", summary: "show where a shared profile came from", group: "settings" },
]

const oauthFlags = [
  toggle("no-browser", "print the address instead of opening it"),
  toggle("manual-paste", "paste the answer by hand"),
  decimal("timeout", "seconds to wait for an answer (15)", { value: "S" }),
  text("ca-bundle", "authorities to believe at the login server", { value: "FILE", complete: "file" }),
  toggle("insecure", "do not check the login server's certificate", { conflictsWith: ["ca-bundle"] }),
]

const authCommands: readonly Command[] = [
  {
    name: "list",
    aliases: ["ls"],
    summary: "list credentials, never their values",
    group: "settings",
    positionals: [{ ...provider, required: false }],
    flags: [json],
    load: () => import("../commands/auth/list.ts"),
  },
  {
    name: "add",
    summary: "add a key or log in",
    group: "settings",
    positionals: [provider],
    flags: [
      choice("type", "kind of credential", { of: ["oauth", "api-key"] }),
      text("label", "name for it", { value: "TEXT" }),
      text("api-key", "the key; asked for without it", { value: "KEY" }),
      ...oauthFlags,
    ],
    load: () => import("../commands/auth/add.ts"),
  },
  {
    name: "remove",
    aliases: ["rm"],
    summary: "remove a credential",
    group: "settings",
    positionals: [provider, { name: "WHICH", summary: "number, id or label", required: true }],
    load: () => import("../commands/auth/remove.ts"),
  },
  {
    name: "reset",
    summary: "forget cooldowns",
    group: "settings",
    positionals: [provider],
    load: () => import("../commands/auth/reset.ts"),
  },
  {
    name: "status",
    summary: "show the state of a provider's credentials",
    group: "settings",
    positionals: [provider],
    flags: [json],
    load: () => import("../commands/auth/status.ts"),
  },
  {
    name: "logout",
    summary: "log out",
    group: "settings",
    positionals: [provider],
    load: () => import("../commands/auth/logout.ts"),
  },
  {
    name: "strategy",
    summary: "choose how several keys take turns",
    group: "settings",
    positionals: [
      provider,
      { name: "STRATEGY", summary: "fill_first, round_robin, random or least_used", required: true },
    ],
    load: () => import("../commands/auth/strategy.ts"),
  },
]

const fallbackCommands: readonly Command[] = [
  {
    name: "list",
    aliases: ["ls"],
    summary: "list what is tried, in order",
    group: "settings",
    flags: [json],
    load: () => import("../commands/fallback/list.ts"),
  },
  {
    name: "add",
    summary: "try one more provider, after the others",
    group: "settings",
    positionals: [provider, { name: "MODEL", summary: "model to ask there", required: true }],
    flags: [
      text("base-url", "address, when it is not the provider's usual one", { value: "URL" }),
      text("key-env", "variable that holds the key", { value: "NAME" }),
      text("api-mode", "wire format, when it cannot be worked out", { value: "NAME" }),
    ],
    load: () => import("../commands/fallback/add.ts"),
  },
  {
    name: "remove",
    aliases: ["rm"],
    summary: "no longer try one of them",
    group: "settings",
    positionals: [{ name: "WHICH", summary: "its number, or provider and model", required: true, rest: true }],
    load: () => import("../commands/fallback/remove.ts"),
  },
  {
    name: "clear",
    summary: "try nothing else",
    group: "settings",
    flags: [yes],
    load: () => import("../commands/fallback/clear.ts"),
  },
]

export const SETTINGS_COMMANDS: readonly Command[] = [
  {
    name: "config",
    summary: "show and change settings",
    group: "settings",
    flags: [json, origin],
    subcommands: configCommands,
    load: () => import("../commands/config/show.ts"),
  },
  {
    name: "profile",
    summary: "keep several homes apart: work, private, a bot",
    group: "settings",
    subcommands: profileCommands,
    load: () => import("../commands/profile/show.ts"),
  },
  {
    name: "setup",
    summary: "answer a few questions and be ready",
    group: "settings",
    positionals: [
      {
        name: "SECTION",
        summary: "only this part",
        required: false,
        choices: ["model", "terminal", "tools", "agent", "gateway", "tts"],
      },
    ],
    flags: [
      toggle("non-interactive", "use defaults and the environment"),
      toggle("reset", "start from the defaults"),
      toggle("quick", "ask only for what is missing"),
      toggle("reconfigure", "ask for everything again"),
    ],
    load: () => import("../commands/setup.ts"),
  },
  {
    name: "model",
    summary: "choose provider and model",
    group: "settings",
    flags: [toggle("refresh", "fetch the lists again"), ...oauthFlags],
    load: () => import("../commands/model/model.ts"),
  },
  {
    name: "fallback",
    summary: "choose what to use when the provider fails",
    group: "settings",
    flags: [json],
    subcommands: fallbackCommands,
    load: () => import("../commands/fallback/list.ts"),
  },
  {
    name: "auth",
    summary: "manage keys and logins",
    group: "settings",
    subcommands: authCommands,
    load: () => import("../commands/auth/interactive.ts"),
  },
  {
    name: "login",
    summary: "replaced by `hermes auth add`",
    group: "settings",
    replacedBy: "hermes auth add PROVIDER",
  },
  {
    name: "logout",
    summary: "replaced by `hermes auth logout`",
    group: "settings",
    replacedBy: "hermes auth logout PROVIDER",
  },
  {
    name: "memory",
    summary: "show and reset what is remembered",
    group: "settings",
    load: () => import("../commands/memory/status.ts"),
    subcommands: [
      {
        name: "status",
        summary: "show the memory files, the provider and what waits",
        group: "settings",
        load: () => import("../commands/memory/status.ts"),
      },
      {
        name: "setup",
        summary: "choose a memory provider",
        group: "settings",
        positionals: [{ name: "PROVIDER", summary: "memory provider", required: false }],
        load: () => import("../commands/memory/setup.ts"),
      },
      {
        name: "off",
        summary: "stop using the memory provider",
        group: "settings",
        load: () => import("../commands/memory/off.ts"),
      },
      {
        name: "reset",
        summary: "forget",
        group: "settings",
        flags: [choice("target", "what to forget", { of: ["all", "memory", "user"] }), yes],
        load: () => import("../commands/memory/reset.ts"),
      },
    ],
  },
  {
    name: "audit",
    summary: "show what tools were allowed to do, and why",
    group: "settings",
    flags: [
      text("session", "only this session", { value: "ID", complete: "session" }),
      text("tool", "only this tool", { value: "NAME" }),
      text("decision", "allow, deny or ask", { value: "NAME" }),
      text("since", "only the last while, for example 24h", { value: "AGE" }),
      json,
      integer("limit", "at most this many", { value: "N", min: 1 }),
    ],
  },
]
