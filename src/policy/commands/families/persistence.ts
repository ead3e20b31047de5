import { pathForms } from "../command-paths.ts"
import { CODE, PERSON } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import { hasFlag, subcommands } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"

const first = (call: Invocation): string => subcommands(call)[0] ?? ""
const says = (call: Invocation, pattern: RegExp): boolean => call.words.some(({ text }) => pattern.test(text))
const sets = (call: Invocation, ...actions: readonly string[]): boolean => {
  const [command = "", action = ""] = subcommands(call)
  return command === "config" && actions.includes(action)
}

/** What runs later, without a further command. */
export const PERSISTENCE_RULES: readonly CommandRule[] = [
  {
    key: "change scheduled jobs",
    programs: ["crontab", "at", "batch", "atrm", "fcrontab", "anacron"],
    when: (call) =>
      call.program === "crontab" || call.program === "fcrontab"
        ? !hasFlag(call, /^-[a-z]*l/u) || hasFlag(call, /^-[a-z]*[re]/u)
        : !hasFlag(call, /^-(?:l|c|V)$/u),
    does: "changes what runs later",
    effects: PERSON,
  },
  {
    key: "install a service",
    programs: [
      "systemctl",
      "systemd-run",
      "launchctl",
      "update-rc.d",
      "chkconfig",
      "loginctl",
      "rc-update",
      "sc",
      "schtasks",
      "systemd-tmpfiles",
    ],
    when: (call) =>
      call.program === "systemctl"
        ? (hasFlag(call, /^--user$/u) && /^(?:start|restart)$/u.test(first(call))) ||
          /^(?:enable|reenable|link|edit|preset|add-wants|set-environment|import-environment|set-property|revert|unmask|daemon-reexec)$/u.test(
            first(call),
          )
        : call.program === "launchctl"
          ? /^(?:load|bootstrap|enable|submit|kickstart|setenv)$/u.test(first(call))
          : call.program === "loginctl"
            ? first(call) === "enable-linger"
            : call.words.length > 0,
    does: "installs or starts a service that runs on its own",
    effects: PERSON,
  },
  {
    key: "call a service of the system",
    programs: ["busctl", "dbus-send", "gdbus", "qdbus"],
    when: (call) =>
      call.program === "busctl"
        ? /^(?:call|set-property|emit)$/u.test(first(call))
        : call.program === "gdbus"
          ? /^(?:call|emit)$/u.test(first(call))
          : call.words.length > 0,
    does: "lets a service outside the sandbox act",
    effects: PERSON,
  },
  {
    key: "change scheduled jobs",
    programs: ["git"],
    when: (call) => first(call) === "maintenance" && /^(?:start|register|stop)$/u.test(subcommands(call)[1] ?? ""),
    does: "changes what runs later",
    effects: PERSON,
  },
  {
    key: "change settings of a package manager",
    programs: ["npm", "pnpm", "yarn", "pip", "pip3", "go", "conda", "gem", "bundle", "poetry", "cargo", "composer"],
    when: (call) =>
      sets(call, "set", "edit", "delete", "fix", "unset") ||
      (call.program === "npm" && first(call) === "set") ||
      (call.program === "go" && first(call) === "env" && hasFlag(call, /^-[wu]$/u)) ||
      (call.program === "conda" && first(call) === "config" && hasFlag(call, /^--(?:add|set|append|prepend)/u)) ||
      (call.program === "gem" && first(call) === "sources" && hasFlag(call, /^-[ar]|^--(?:add|remove)/u)),
    does: "changes what a package manager installs or runs",
    effects: PERSON,
  },
  {
    key: "allow a directory environment (direnv)",
    programs: ["direnv", "mise", "asdf"],
    when: (call) => /^(?:allow|permit|grant|trust)$/u.test(first(call)),
    does: "lets a directory run code in every shell that enters it",
    effects: PERSON,
  },
  {
    key: "install an extension",
    programs: [
      "code",
      "codium",
      "cursor",
      "gh",
      "kubectl",
      "helm",
      "vim",
      "jupyter",
      "gnome-extensions",
      "claude",
      "codex",
    ],
    when: (call) =>
      hasFlag(call, /^--install-extension/u) ||
      (["gh", "helm", "gnome-extensions"].includes(call.program) &&
        (/^(?:extension|plugin)$/u.test(first(call)) || call.program === "gnome-extensions") &&
        says(call, /^(?:install|upgrade|enable)$/u)) ||
      (call.program === "gh" && first(call) === "alias" && says(call, /^(?:set|import)$/u)) ||
      (["claude", "codex"].includes(call.program) && first(call) === "mcp" && says(call, /^add/u)),
    does: "installs code that another program runs",
    effects: CODE,
  },
  {
    key: "write a file that other programs execute",
    programs: ["chmod"],
    when: (call) =>
      call.operands.some(({ text }) => /^[ugoa]*[+=][rwst]*x|^[0-7]*[1357][0-7]{0,2}$/u.test(text)) &&
      call.operands
        .slice(1)
        .some((word) =>
          pathForms(word, call.command.directory, call.facts).some((path) => /\/\.git\/hooks\//u.test(path)),
        ),
    does: "makes a hook of git executable",
    effects: PERSON,
  },
  {
    key: "register a key or handler",
    programs: [
      "ssh-copy-id",
      "xdg-mime",
      "xdg-settings",
      "update-alternatives",
      "defaults",
      "gsettings",
      "dconf",
      "kwriteconfig5",
      "chsh",
    ],
    when: (call) =>
      call.program === "defaults"
        ? /^(?:write|delete|import)$/u.test(first(call))
        : call.program === "gsettings"
          ? /^(?:set|reset)/u.test(first(call))
          : call.program === "dconf"
            ? /^(?:write|reset|load)$/u.test(first(call))
            : !/^(?:query|--display|--list|--query)$/u.test(call.words[0]?.text ?? ""),
    does: "changes what runs or who may log in",
    effects: PERSON,
  },
  {
    key: "start a program that outlives the shell",
    programs: ["tmux", "screen", "dtach", "abduco", "daemonize", "start-stop-daemon"],
    when: (call) =>
      call.program === "tmux"
        ? says(
            call,
            /^(?:send-keys|send|new-session|new|run-shell|run|if-shell|new-window|neww|respawn-pane|respawn-window|pipe-pane|source-file|source|split-window|set-hook|default-command|default-shell|copy-command|popup|display-popup)$/u,
          )
        : call.program === "screen"
          ? says(call, /^-[a-zA-Z]*[dDmX]|^-X$/u)
          : call.words.length > 0,
    does: "runs commands in another terminal, outside the control of Hermes",
    effects: CODE,
  },
]
