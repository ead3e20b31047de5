import type { Command, Positional } from "../command.ts"
import { choice, decimal, json, text, toggle, yes } from "./flag.ts"
import { AUDIT_FLAGS, PERMISSIONS_COMMAND } from "./permissions.ts"

const key: Positional = {
  name: "KEY",
  summary: "setting, for example agent.max_turns",
  required: true,
  complete: "setting",
}
const profile: Positional = { name: "NAME", summary: "profile", required: true, complete: "profile" }
const provider: Positional = { name: "PROVIDER", summary: "provider id", required: true, complete: "provider" }
const origin = toggle("origin", "show where each value comes from")

const configCommands: readonly Command[] = [
  {
    name: "show",
    summary: "show the effective settings",
    group: "settings",
    flags: [json, origin],
    load: () => import("../commands/config/show.ts"),
  },
  {
    name: "get",
    summary: "print one value",
    group: "settings",
    positionals: [key],
    flags: [json],
    load: () => import("../commands/config/get.ts"),
  },
  {
    name: "set",
    summary: "change one value; keys and tokens go to .env",
    group: "settings",
    positionals: [key, { name: "VALUE", summary: "true, 5, 0.5, null, text, or JSON", required: true }],
    flags: [json, yes],
    load: () => import("../commands/config/set.ts"),
  },
  {
    name: "unset",
    summary: "remove one value from config.yaml",
    group: "settings",
    positionals: [key],
    flags: [json, yes],
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
    summary: "print the path of config.yaml",
    group: "settings",
    flags: [json],
    load: () => import("../commands/config/path.ts"),
  },
  {
    name: "env-path",
    summary: "print the path of .env",
    group: "settings",
    flags: [json],
    load: () => import("../commands/config/path.ts"),
  },
  {
    name: "check",
    summary: "check the configuration for mistakes",
    group: "settings",
    flags: [json],
    load: () => import("../commands/config/check.ts"),
  },
  {
    name: "migrate",
    summary: "migrate config.yaml to the current version",
    group: "settings",
    flags: [yes, json],
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
    summary: "create a profile with its own home",
    group: "settings",
    positionals: [{ name: "NAME", summary: "lower-case letters, digits, - and _", required: true }],
    flags: [
      toggle("clone", "copy settings, keys, persona, skills and memory from the current profile", {
        conflictsWith: ["no-skills"],
      }),
      toggle("clone-all", "copy everything except the history", { conflictsWith: ["no-skills"] }),
      text("clone-from", "copy from this profile", {
        value: "NAME",
        complete: "profile",
        conflictsWith: ["no-skills"],
      }),
      toggle("no-alias", "do not create a command with this name"),
      toggle("no-skills", "start without the bundled skills"),
      text("description", "description of the profile", { value: "TEXT" }),
    ],
    load: () => import("../commands/profile/create.ts"),
  },
  {
    name: "use",
    summary: "set the default profile",
    group: "settings",
    positionals: [profile],
    load: () => import("../commands/profile/use.ts"),
  },
  {
    name: "describe",
    summary: "show or set the description of a profile",
    group: "settings",
    positionals: [{ ...profile, required: false }],
    flags: [
      text("text", "the description", { value: "TEXT", conflictsWith: ["auto"] }),
      toggle("auto", "let the model write the description", { later: true }),
      toggle("overwrite", "replace an existing description"),
      toggle("all", "describe every profile without a description", { later: true }),
    ],
    load: () => import("../commands/profile/describe.ts"),
  },
  {
    name: "rename",
    summary: "rename a profile",
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
    summary: "export a profile without its keys",
    group: "settings",
    positionals: [profile],
    flags: [text("output", "output file", { short: "o", value: "FILE", complete: "file" })],
    load: () => import("../commands/profile/export.ts"),
  },
  {
    name: "import",
    summary: "import a profile",
    group: "settings",
    positionals: [{ name: "ARCHIVE", summary: "file written by `profile export`", required: true, complete: "file" }],
    flags: [text("name", "name of the new profile", { value: "NAME" })],
    load: () => import("../commands/profile/import.ts"),
  },
  { name: "install", summary: "install a shared profile", group: "settings" },
  { name: "update", summary: "update a shared profile", group: "settings" },
  { name: "info", summary: "show the source of a shared profile", group: "settings" },
]

const oauthFlags = [
  toggle("no-browser", "print the login URL instead of opening a browser"),
  toggle("manual-paste", "paste the login code by hand"),
  decimal("timeout", "seconds to wait for a response (15)", { value: "S" }),
  text("ca-bundle", "CA certificates for the login server", { value: "FILE", complete: "file" }),
  toggle("insecure", "do not verify the certificate of the login server", { conflictsWith: ["ca-bundle"] }),
]

const authCommands: readonly Command[] = [
  {
    name: "list",
    aliases: ["ls"],
    summary: "list credentials without their values",
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
      text("label", "label of the credential", { value: "TEXT" }),
      text("api-key", "the API key (default: ask for it)", { value: "KEY" }),
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
    summary: "clear the cooldowns of a provider's credentials",
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
    summary: "log out of a provider",
    group: "settings",
    positionals: [provider],
    load: () => import("../commands/auth/log-out.ts"),
  },
  {
    name: "strategy",
    summary: "choose how several credentials are rotated",
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
    summary: "list the fallback models in order",
    group: "settings",
    flags: [json],
    load: () => import("../commands/fallback/list.ts"),
  },
  {
    name: "add",
    summary: "add a fallback model at the end",
    group: "settings",
    positionals: [provider, { name: "MODEL", summary: "model of the provider", required: true }],
    flags: [
      text("base-url", "base URL, if it is not the provider's default", { value: "URL" }),
      text("key-env", "environment variable with the API key", { value: "NAME" }),
      text("api-mode", "wire format, if it cannot be detected", { value: "NAME" }),
      json,
    ],
    load: () => import("../commands/fallback/add.ts"),
  },
  {
    name: "remove",
    aliases: ["rm"],
    summary: "remove a fallback model",
    group: "settings",
    positionals: [{ name: "WHICH", summary: "number, or provider and model", required: true, rest: true }],
    flags: [json],
    load: () => import("../commands/fallback/remove.ts"),
  },
  {
    name: "clear",
    summary: "remove all fallback models",
    group: "settings",
    flags: [yes, json],
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
    summary: "manage profiles with separate homes",
    group: "settings",
    subcommands: profileCommands,
    load: () => import("../commands/profile/show.ts"),
  },
  {
    name: "setup",
    summary: "set Hermes up interactively",
    group: "settings",
    positionals: [
      {
        name: "SECTION",
        summary: "only this section",
        required: false,
        choices: ["model", "terminal", "tools", "agent", "gateway", "tts"],
      },
    ],
    flags: [
      toggle("non-interactive", "use defaults and environment variables"),
      toggle("reset", "start from the defaults"),
      toggle("quick", "ask only for missing settings"),
      toggle("reconfigure", "ask for everything again, which is the default"),
    ],
    load: () => import("../commands/setup.ts"),
  },
  {
    name: "model",
    summary: "choose the provider and model",
    group: "settings",
    positionals: [
      {
        name: "FROM",
        summary: "provider, or address of an OpenAI-compatible server, for example http://localhost:11434/v1",
        required: false,
      },
      { name: "MODEL", summary: "model to use, without a question", required: false },
    ],
    flags: [toggle("refresh", "fetch the model lists again"), ...oauthFlags],
    load: () => import("../commands/model/model.ts"),
  },
  {
    name: "fallback",
    summary: "manage the models to use when the provider fails",
    group: "settings",
    flags: [json],
    subcommands: fallbackCommands,
    load: () => import("../commands/fallback/list.ts"),
  },
  {
    name: "auth",
    summary: "manage API keys and logins",
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
    summary: "show and reset the memory",
    group: "settings",
    flags: [json],
    load: () => import("../commands/memory/status.ts"),
    subcommands: [
      {
        name: "status",
        summary: "show what is remembered, the memory provider and pending changes",
        group: "settings",
        flags: [json],
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
        summary: "delete the memory files",
        group: "settings",
        flags: [choice("target", "files to delete", { of: ["all", "memory", "user"] }), yes],
        load: () => import("../commands/memory/reset.ts"),
      },
    ],
  },
  PERMISSIONS_COMMAND,
  {
    name: "audit",
    summary: "same as `permissions log`",
    group: "settings",
    flags: AUDIT_FLAGS,
    load: () => import("../commands/permissions/log.ts"),
  },
]
