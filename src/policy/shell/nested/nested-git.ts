import type { Call, Interpreter } from "../interpreter.ts"
import { findCommand, joinWords, optionValue, runInside, runInsideText } from "./unwrap.ts"

const GLOBAL = { short: "cC", long: "--git-dir --work-tree --namespace --config-env --super-prefix".split(" ") }

/** Settings whose value git runs. */
const RUN_SETTINGS =
  /^(?:core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy)|sequence\.editor|diff\.external|pager\.[\w-]+|credential\.(?:.*\.)?helper|(?:diff|merge|filter)\..*\.(?:textconv|command|driver|clean|smudge|process)|(?:difftool|mergetool|browser|man)\..*\.(?:cmd|path)|gpg\.(?:.*\.)?program|uploadpack\.packobjectshook|sendemail\.smtpserver|web\.browser|interactive\.difffilter|trailer\..*\.command)$/iu

/** Options of subcommands whose value git runs. */
const RUN_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  rebase: ["-x", "--exec"],
  difftool: ["-x", "--extcmd"],
  clone: ["-u", "--upload-pack"],
  fetch: ["--upload-pack"],
  pull: ["--upload-pack"],
  "ls-remote": ["--upload-pack"],
  push: ["--receive-pack", "--exec"],
  archive: ["--exec"],
  grep: ["--open-files-in-pager"],
  "filter-branch": [
    "--tree-filter",
    "--index-filter",
    "--env-filter",
    "--msg-filter",
    "--commit-filter",
    "--tag-name-filter",
    "--parent-filter",
    "--setup",
  ],
  "send-email": ["--smtp-server", "--to-cmd", "--cc-cmd"],
}

/** Git runs commands from settings, aliases, options and subcommands. */
export function runGit(call: Call, interpreter: Interpreter): void {
  const { argv } = call
  const found = findCommand(argv, GLOBAL)
  const at = found?.at ?? argv.length
  const subcommand = argv[at]?.text ?? ""
  if (at > MOST_WORDS) interpreter.doubt("length", "git", "it has too many options")
  runSettings(call, at, interpreter)
  const options = Object.hasOwn(RUN_OPTIONS, subcommand) ? RUN_OPTIONS[subcommand] : undefined
  const value = options && optionValue(argv.slice(at), options)
  if (value !== undefined) runInsideText(call, { name: "git", at: at + value.at, text: value.word }, interpreter)
  for (const [index, word] of argv.slice(0, MOST_WORDS).entries()) {
    const external = /^ext::([^]+)$/u.exec(word.text)?.[1]
    if (external !== undefined)
      runInsideText(call, { name: "git", at: index, text: { ...word, text: external } }, interpreter)
  }
  if (subcommand === "bisect" && argv[at + 1]?.text === "run" && argv.length > at + 2) {
    runInside(call, { name: "git", at: at + 2 }, interpreter)
  }
  if (subcommand === "submodule") {
    const foreach = argv.findIndex(({ text }) => text === "foreach")
    const start =
      foreach === -1 ? argv.length : argv.findIndex(({ text }, index) => index > foreach && !text.startsWith("-"))
    if (start !== -1 && start < argv.length)
      runInsideText(call, { name: "git", at: start, text: joinWords(argv.slice(start)) }, interpreter)
  }
  if (subcommand === "config") {
    const name = argv.slice(at + 1).find(({ text }) => text.includes("."))?.text ?? ""
    const value = argv.at(-1)
    runSetting(call, { at, name, value }, interpreter)
    const alias = /^alias\.(.+)$/iu.exec(name)?.[1]
    if (alias !== undefined && value !== undefined && value.text !== name)
      call.frame.scope.setFunction(aliasKey(alias), value.known ? value.text : undefined)
  }
  runAlias(call, { at, subcommand }, interpreter)
}

/** Aliases of git are kept with the functions of the shell; no function has a space in its name. */
function aliasKey(name: string): string {
  return `git ${name.toLowerCase()}`
}

/** `git p` after `git config alias.p 'push URL'`, or with `-c`. What a shell alias (`!…`) runs was interpreted when it was set. */
function runAlias(
  call: Call,
  { at, subcommand }: { readonly at: number; readonly subcommand: string },
  interpreter: Interpreter,
): void {
  const { argv, frame } = call
  const mark = aliasKey(subcommand)
  if (subcommand === "" || frame.active.includes(mark)) return
  const given = argv
    .slice(1, at)
    .find(({ text }) => text.toLowerCase().startsWith(`alias.${subcommand.toLowerCase()}=`))
  const kept = frame.scope.function(mark)
  if (given === undefined && kept === undefined) return
  const body = given === undefined ? kept?.body : given.text.slice(given.text.indexOf("=") + 1)
  if (body === undefined) {
    interpreter.doubt("program", `git ${subcommand}`, "it is an alias whose text is not known")
    return
  }
  if (body.startsWith("!")) return
  const rest = argv.slice(at + 1).map(({ text }) => `'${text.replaceAll("'", String.raw`'\''`)}'`)
  interpreter.runText(`git ${[body, ...rest].join(" ")}`, { ...frame, active: [...frame.active, mark] })
}

const MOST_WORDS = 64

/** `git -c name=value`. */
function runSettings(call: Call, end: number, interpreter: Interpreter): void {
  for (let at = 1; at < Math.min(end, MOST_WORDS); at += 1) {
    const word = call.argv[at]
    const attached = word !== undefined && /^-c./u.test(word.text)
    if (word === undefined || (word.text !== "-c" && !attached)) continue
    const setting = attached ? { ...word, text: word.text.slice(2) } : call.argv[at + 1]
    const equals = setting?.text.indexOf("=") ?? -1
    if (setting === undefined || equals === -1) continue
    runSetting(
      call,
      { at, name: setting.text.slice(0, equals), value: { ...setting, text: setting.text.slice(equals + 1) } },
      interpreter,
    )
  }
}

interface Setting {
  readonly at: number
  readonly name: string
  readonly value: Call["argv"][number] | undefined
}

function runSetting(call: Call, { at, name, value }: Setting, interpreter: Interpreter): void {
  if (value === undefined || value.text === "" || value.text === name) return
  const isShellAlias = /^alias\./iu.test(name) && value.text.startsWith("!")
  if (!isShellAlias && !RUN_SETTINGS.test(name)) return
  const isHelper = /^credential\./iu.test(name) && !/^[!/]/u.test(value.text)
  if (isHelper || /^(?:true|false)$/u.test(value.text)) return
  runInsideText(call, { name: "git", at, text: { ...value, text: value.text.replace(/^!/u, "") } }, interpreter)
}
