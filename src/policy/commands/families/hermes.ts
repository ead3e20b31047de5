import { pathForms } from "../command-paths.ts"
import { PERSON } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import { hasFlag, subcommands } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { pathClass } from "../path-classes.ts"

const HERMES = ["hermes", "hermes-agent"]
/** `node …/hermes.js config set` is Hermes too. */
const RUNNERS = "node nodejs bun bunx deno npx npm pnpm pnpx yarn tsx ts-node sh bash zsh dash ksh".split(" ")
const OWN_SCRIPT = /(?:^|\/)hermes(?:-agent)?(?:\.m?js)?$/u
const scriptIndex = ({ words }: Invocation): number =>
  words.slice(0, LAST_SCRIPT).findIndex(({ text }) => OWN_SCRIPT.test(text))
/** What follows are arguments of something else. */
const LAST_SCRIPT = 8
const isOwnScript = (call: Invocation): boolean => scriptIndex(call) !== -1
const action = (call: Invocation): string => {
  if (!RUNNERS.includes(call.program)) return subcommands(call).slice(0, 2).join(" ")
  const words = call.words.slice(scriptIndex(call) + 1)
  return words
    .filter(({ text }, index) => !text.startsWith("-") && !WITH_VALUE.test(words[index - 1]?.text ?? ""))
    .slice(0, 2)
    .map(({ text }) => text)
    .join(" ")
}
const WITH_VALUE = /^(?:-p|--profile|-m|--model|--provider|--cwd|--permission-profile|--allow|--deny)$/u
const isGatewayRun = (call: Invocation): boolean => /^gateway run\b/u.test(action(call))
const isDetached = ({ command }: Invocation): boolean =>
  command.background || command.wrappers.some(({ program }) => program === "setsid" || program === "nohup")

/** Commands of Hermes that only show something. */
const READING = new RegExp(
  `^(?:${[
    String.raw`(?:version|help|doctor|status|logs|insights|completion)\b.*`,
    "tools(?: list)?",
    "config(?: (?:get|show|path|list|check|schema))?",
    "permissions (?:explain|log|list|show)",
    "sessions (?:list|show|search|stats|path)",
    "(?:skills|plugins|mcp|hooks|profile|auth|model|models|memory|backup|cron|checkpoints?|lsp) (?:list|ls|show|search|status|current|diff|inspect|catalog|check)",
    "gateway status",
  ].join("|")})$`,
  "u",
)

/** What Hermes would do to itself. */
export const HERMES_RULES: readonly CommandRule[] = [
  {
    key: "stop/restart hermes gateway (kills running agents)",
    programs: HERMES,
    when: (call) => /^gateway (?:stop|restart)$/u.test(action(call)),
    does: "stops every agent of the gateway",
    effects: PERSON,
  },
  {
    key: "hermes update (restarts gateway, kills running agents)",
    programs: HERMES,
    when: (call) => /^update\b/u.test(action(call)),
    does: "replaces Hermes while it runs",
    effects: PERSON,
  },
  {
    key: "start gateway outside systemd",
    programs: HERMES,
    when: (call) => isGatewayRun(call) && isDetached(call),
    does: "starts a gateway that no service manager controls",
    effects: PERSON,
  },
  {
    key: "change settings, permissions or credentials of Hermes",
    level: "ask_person",
    programs: [...HERMES, ...RUNNERS],
    when: (call) =>
      (HERMES.includes(call.program) || isOwnScript(call)) &&
      ((/^(?:config|permissions|auth|login|logout|setup|plugins?|mcp|hooks|profile|env|secrets?|uninstall|restore|import|reset|install|pairing|credentials?|backup|model|skills|cron)\b/u.test(
        action(call),
      ) &&
        !READING.test(action(call))) ||
        hasFlag(call, /^--(?:yolo|allow|permission-profile|dangerously\S*|accept-hooks)(?:=|$)/u)),
    does: "changes what Hermes may do",
    effects: PERSON,
  },
  {
    key: "change access to the Hermes home",
    programs: ["chmod", "chown", "chgrp", "chattr", "setfacl"],
    when: (call) =>
      call.operands
        .slice(1)
        .flatMap((word) => pathForms(word, call.command.directory, call.facts))
        .some((path) => pathClass(path, call.facts)?.startsWith("hermes") === true),
    does: "changes who may use the files of Hermes",
    effects: PERSON,
  },
  {
    key: "start another Hermes",
    programs: HERMES,
    when: (call) =>
      !READING.test(action(call)) &&
      !/^(?:gateway|update|config|permissions|auth)\b/u.test(action(call)) &&
      !hasFlag(call, /^--(?:version|help)$|^-[hV]$/u),
    does: "starts an agent that this session does not control",
    effects: PERSON,
  },
]
