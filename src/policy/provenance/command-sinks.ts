import { basename, isAbsolute } from "node:path"

import { programName } from "../commands/invocation.ts"
import { isLoopback, NAME_LOOKUP_PROGRAMS, NETWORK_PROGRAMS } from "../commands/network-target.ts"
import { executedFiles } from "../executed-files.ts"
import type { JudgedCommand } from "../policy-request.ts"
import type { ShellWord, SimpleCommand, UnderstoodCommand } from "../shell/understood-command.ts"
import { hostsIn, plainHost } from "./hosts.ts"
import { installedPackages, installsUnknown } from "./packages.ts"
import type { Sink } from "./sink.ts"

const MIN_COMMAND_CHARS = 12

/** What the commands of a line reach. `hostsWrittenTo` gives the hosts in files that the model wrote and the line executes. */
export function commandSinks(
  { line, verdict: { understood }, isReadOnly, registries = [] }: JudgedCommand,
  hostsWrittenTo: (fileName: string) => readonly string[],
): readonly Sink[] {
  const isSettingsMoved = movesSettings(understood)
  const sinks = understood.commands.flatMap((command) => [
    ...networkSinks(command, isSettingsMoved),
    ...publishingSinks(command),
    ...installedPackages(command).map((value): Sink => ({ kind: "package", value })),
    ...(installsUnknown(command) ? [UNKNOWN_ADDRESS] : []),
  ])
  const written = executedFiles(understood).flatMap((path) => hostsWrittenTo(basename(path)))
  const isOrdinary = isReadOnly || (understood.doubts.length === 0 && understood.commands.every(isProjectCommand))
  const texts = isOrdinary ? [] : [line, ...understood.commands.map(({ text }) => text)]
  return [
    ...sinks,
    ...[...written, ...registries].map((host): Sink => ({ kind: "network", value: host })),
    ...texts.filter((text) => text.length >= MIN_COMMAND_CHARS).map((value): Sink => ({ kind: "command", value })),
  ].filter(({ kind, value }) => kind !== "network" || !isLoopback(value))
}

const UNKNOWN_ADDRESS: Sink = { kind: "network", value: undefined }

/** Since then, curl, wget and git take addresses from other settings than those of the user. */
function movesSettings({ commands, after }: UnderstoodCommand): boolean {
  return (
    [...after.variables.keys()].some((name) => REDIRECTING_VARIABLE.test(name)) ||
    commands.some(({ argv, assignments, wrappers }) => {
      const words = [...argv, ...wrappers.flatMap((wrapper) => wrapper.argv)]
      return (
        assignments.some(({ name }) => REDIRECTING_VARIABLE.test(name)) ||
        words.some(({ text }) => REDIRECTING_VARIABLE.test(/^(\w+)=/u.exec(text)?.[1] ?? ""))
      )
    })
  )
}

function networkSinks(command: SimpleCommand, isSettingsMoved: boolean): readonly Sink[] {
  const program = programName(command.program ?? "")
  const words = command.argv.slice(1)
  const texts = [...words.map(({ text }) => text), ...inputTexts(command)]
  const around = [
    ...command.assignments.map(({ value }) => value.text),
    ...command.redirections.map(({ target }) => target.text),
  ].flatMap(hostsIn)
  const remote = command.remote === undefined || command.remote === "" ? [] : [command.remote]
  const isConnecting = NETWORK_PROGRAMS.has(program) || (program === "git" && GIT_CONNECTS.test(command.text))
  // `xargs curl`: the addresses are in the input.
  const isFilled = command.wrappers.some((wrapper) => /^(?:xargs|parallel)$/u.test(programName(wrapper.program)))
  const redirected = isConnecting && (isSettingsMoved || isFilled) ? [undefined] : []
  return [...new Set([...around, ...remote, ...redirected, ...hostsOf(program, words, texts)])].map((value) => ({
    kind: "network",
    value,
  }))
}

function hostsOf(
  program: string,
  words: readonly ShellWord[],
  texts: readonly string[],
): readonly (string | undefined)[] {
  if (TEXT_PROGRAMS.has(program)) return []
  if (program === "git" && !GIT_NETWORK.test(texts.join(" "))) return []
  const found = texts.flatMap(hostsIn)
  if (program === "git")
    return [...found, ...texts.slice(1).flatMap((text) => scpHost(text)), ...(isUnknownToGit(words) ? [undefined] : [])]
  if (NETWORK_PROGRAMS.has(program)) return programHosts(program, words, found)
  const isCode = INTERPRETERS.test(program) && texts.some((text) => NETWORK_CODE.test(text))
  return found.length === 0 && isCode ? [undefined] : found
}

/** A program that only talks to other machines: an address that cannot be read is an address all the same. */
function programHosts(
  program: string,
  words: readonly ShellWord[],
  found: readonly string[],
): readonly (string | undefined)[] {
  if (CLOUD_PROGRAMS.has(program)) return found
  if (program === "openssl" && words[0]?.text !== "s_client") return found
  if (program === "getent") return HOST_DATABASE.test(words[0]?.text ?? "") ? lookedUp(words.slice(1)) : found
  const operands = words.filter(
    ({ text }, index) => !text.startsWith("-") && !takesValue(program, words[index - 1]?.text ?? ""),
  )
  const plain = operands.flatMap(({ text }) => plainHost(text.replace(/^@|^(?:TCP|UDP|OPENSSL|SSL)[46]?:/iu, "")) ?? [])
  const first = HOST_FIRST.has(program) && plain.length === 0 ? operands.slice(0, 1).map(({ text }) => text) : []
  const hosts = [...found, ...plain, ...first]
  const isUnknown = words.some(
    ({ known, text }) =>
      (!known && !text.startsWith("-")) || REDIRECTS_REQUESTS.test(text) || ADDRESSES_FROM_FILE[program]?.test(text),
  )
  if (isUnknown) return [...hosts, undefined]
  // Without an address, curl uses those of its settings.
  const isAsked = words.every(({ text }) => /^(?:-V|-h|-M|--version|--help|--manual|all)$/u.test(text))
  if (program === "curl" && hosts.length === 0 && !isAsked) return [undefined]
  return hosts.length === 0 && operands.length > 0 ? [undefined] : hosts
}

/** A look-up sends the name to the server of its domain, and the name may carry data. */
function lookedUp(words: readonly ShellWord[]): readonly (string | undefined)[] {
  return words.map(({ known, text }) => (known ? (plainHost(text) ?? text) : undefined))
}

const HOST_DATABASE = /^a?hosts(?:v[46])?$/u

/** Options with which curl and wget talk to another machine than the address says. */
const REDIRECTS_REQUESTS =
  /^(?:--(?:connect-to|resolve|proxy\b.*|preproxy|socks[45].*|config|doh-url|dns-.*|(?:abstract-)?unix-socket)(?:=.*)?|-[xK].*)$/u
const REDIRECTING_VARIABLE =
  /^(?:home|xdg_config_home|curl_home|wgetrc|system_wgetrc|git_config(?:_\w+)?|(?:https?|all|ftp)_proxy)$/iu
/** Options with which a program takes addresses from a file or from its input. */
const ADDRESSES_FROM_FILE: Readonly<Record<string, RegExp>> = {
  curl: /^--(?:expand-url|variable)(?:=|$)/u,
  wget: /^-[a-zA-Z]*i|^--(?:input-file|base|config|execute)(?:=|$)|^-[a-zA-Z]*[Be]/u,
  wget2: /^-[a-zA-Z]*i|^--(?:input-file|base|config|execute)(?:=|$)|^-[a-zA-Z]*[Be]/u,
  aria2c: /^-[a-zA-Z]*i|^--(?:input-file|conf-path)(?:=|$)/u,
  dig: /^-f/u,
  fping: /^-f|^--file/u,
  nmap: /^-i[LR]/u,
  "ssh-keyscan": /^-f/u,
}

/** An option whose value is the next word, so that this word is no address. The first letter with a value ends a packed option. */
function takesValue(program: string, option: string): boolean {
  return VALUED[program]?.test(option) === true
}

const CURL_VALUED =
  /^-[^-AbcCdDeEFHKmoPQrtTuUwXyYz][^AbcCdDeEFHKmoPQrtTuUwXyYz]*[AbcCdDeEFHmoPQrtTuUwXyYz]$|^-[AbcCdDeEFHmoPQrtTuUwXyYz]$|^--(?:data(?:-\w+)?|json|form(?:-string)?|header|output(?:-dir)?|user(?:-agent)?|request|cookie(?:-jar)?|upload-file|dump-header|referer|range|write-out|max-time|connect-timeout|retry(?:-delay|-max-time)?|cacert|capath|cert|key|limit-rate|trace(?:-ascii)?|stderr|etag-(?:save|compare)|libcurl|max-redirs)$/u
const WGET_VALUED =
  /^-[OoaPUtTwQADIRXl]$|^-[^-OoaPUtTwQADIRXliBe][^OoaPUtTwQADIRXliBe]*[OoaPUtTwQADIRXl]$|^--(?:output-(?:document|file)|directory-prefix|append-output|user-agent|header|post-(?:data|file)|body-(?:data|file)|method|tries|timeout|wait|accept|reject|save-cookies|load-cookies|level)$/u
const VALUED: Readonly<Record<string, RegExp>> = {
  curl: CURL_VALUED,
  curlie: CURL_VALUED,
  wget: WGET_VALUED,
  wget2: WGET_VALUED,
}

/** Whether the repository of a git command that loads from one, or a setting that leads elsewhere, cannot be read. */
function isUnknownToGit(words: readonly ShellWord[]): boolean {
  const at = words.findIndex(({ text }) => GIT_LOADS.test(text))
  if (at === -1) return false
  const isLed = words
    .slice(0, at)
    .some(({ text, known }, index) =>
      words[index - 1]?.text === "-c" ? !known || LEADING_SETTING.test(text) : /^--(?:config-env|git-dir)/u.test(text),
    )
  if (isLed) return true
  for (const [index, { text, known }] of words.entries()) {
    if (index <= at || GIT_VALUED.test(words[index - 1]?.text ?? "")) continue
    if (!known) return true
    // The address of `remote add` follows its name.
    if (!text.startsWith("-") && !GIT_ACTION.test(text) && words[at]?.text !== "remote") return false
  }
  return false
}

const GIT_LOADS = /^(?:clone|pull|fetch|ls-remote|submodule|remote|archive|subtree|lfs)$/u
const GIT_CONNECTS = /^git\b.*\s(?:clone|pull|fetch|push|ls-remote|submodule|archive|subtree|lfs)\b/u
const GIT_ACTION = /^(?:add|update|set-url|fetch|pull|push)$/u
const GIT_VALUED =
  /^(?:-b|-o|-j|-u|-m|-t|--branch|--depth|--origin|--jobs|--filter|--deepen|--shallow-since|--sort|--name|--prefix|--reference|--path)$/u
/** Settings that lead git to another address. */
const LEADING_SETTING =
  /^(?:url\..+\.(?:push)?insteadof|remotes?\..+|include(?:if)?\..*path|http\..*proxy|core\.(?:gitproxy|sshcommand)|branch\..+\.(?:push)?remote)(?:=|$)/iu

function scpHost(text: string): readonly string[] {
  const host = /^(?:[\w.-]+@)?[\w-]+(?:\.[\w-]+)+:/u.test(text) ? plainHost(text) : undefined
  return host === undefined ? [] : [host]
}

function inputTexts({ input }: SimpleCommand): readonly string[] {
  return input?.kind === "text" ? [input.word.text] : []
}

/** Their arguments are text: an address in them is not contacted. */
const TEXT_PROGRAMS: ReadonlySet<string> = new Set(
  "echo printf grep rg egrep fgrep ag ack sed cat tee head tail less wc sort uniq cut tr jq yq test [ [[ true false cd mkdir touch ls find rm cp mv ln diff basename dirname sleep kill read".split(
    " ",
  ),
)
const GIT_NETWORK =
  /(?:^|\s)(?:clone|push|pull|fetch|ls-remote|remote|submodule|config|archive|send-email|bundle|svn|-c)(?:\s|$)/u
/** They talk to the account that the user configured; only an address in their arguments is a choice of the model. */
const CLOUD_PROGRAMS: ReadonlySet<string> = new Set("aws gsutil gcloud az doctl".split(" "))
const HOST_FIRST: ReadonlySet<string> = new Set([
  ..."ssh sftp nc ncat netcat telnet ftp lftp tftp nmap".split(" "),
  ...NAME_LOOKUP_PROGRAMS,
])
const INTERPRETERS =
  /^(?:python|pypy|node|deno|bun|ruby|perl|php|lua|rscript|pwsh|osascript|bash|sh|zsh|tclsh|go|java|groovy|julia)[\d.]*$/u
/** Code that opens connections. */
const NETWORK_CODE =
  /\b(?:urllib|urlopen|requests\.|httpx|aiohttp|http\.client|socket\b|smtplib|ftplib|paramiko|telnetlib|fetch\(|https?\.(?:get|request)|net\.(?:connect|createConnection)|dgram|dns\.(?:resolve|lookup)|XMLHttpRequest|WebSocket|axios|Net::(?:HTTP|SMTP|FTP)|open-uri|TCPSocket|LWP|HTTP::|IO::Socket|fsockopen|curl_|stream_socket|Invoke-(?:WebRequest|RestMethod)|gethostby)/u

interface Publishing {
  readonly kind?: "schedule"
  readonly command: RegExp
  readonly asked: RegExp
}

/** Commands that publish under the user's name to a service that is already configured, and the words with which a user asks for it. */
const PUBLISHING: readonly Publishing[] = [
  {
    command: /^gh pr (?:create|comment|review|edit|merge|close)\b/u,
    asked: /\b(?:pr|prs|pull[ -]requests?|merge)\b/iu,
  },
  { command: /^gh issue (?:create|comment|edit|close|transfer)\b/u, asked: /\bissues?\b/iu },
  { command: /^gh gist (?:create|edit)\b/u, asked: /\bgists?\b/iu },
  {
    command: /^gh (?:release|repo) (?:create|upload|edit|delete|fork|rename)\b/u,
    asked: /\b(?:releases?|repo(?:sitory)?|fork)\b/iu,
  },
  { command: /^gh api\b.*(?:-X|--method|-f|-F|--field|--raw-field|--input)/u, asked: /\bgh api\b/iu },
  {
    command: /^gh (?:secret|variable|ssh-key|gpg-key|auth) /u,
    asked: /\b(?:secrets?|variables?|keys?|log ?in|auth)\b/iu,
  },
  { command: /^glab (?:mr|issue|snippet|release|api)\b/u, asked: /\b(?:mr|merge request|issue|snippet|release)s?\b/iu },
  {
    command: /^(?:npm|pnpm|yarn|bun|cargo|poetry|flit|hatch|uv|vsce|mix hex\.)\s?publish\b/u,
    asked: /\b(?:publish|release)\b/iu,
  },
  {
    command: /^(?:twine upload|gem push|docker push|podman push|helm push|nuget push)\b/u,
    asked: /\b(?:publish|release|push|upload)\b/iu,
  },
  {
    command: /^(?:npm|yarn) (?:owner|access|token|adduser|login|profile)\b/u,
    asked: /\b(?:owner|access|token|log ?in)\b/iu,
  },
  { command: /^(?:mail|mailx|sendmail|mutt|msmtp|swaks|s-nail)\b/u, asked: /\b(?:e-?mail|mail)\b/iu },
  {
    kind: "schedule",
    command: /^(?:crontab|at|batch)\b(?! -l)/u,
    asked: /\b(?:cron(?:tab|job)?|schedule|every (?:day|hour|minute|week|night))\b/iu,
  },
]

function publishingSinks(command: SimpleCommand): readonly Sink[] {
  const row = PUBLISHING.find((publishing) => publishing.command.test(command.text))
  return row === undefined ? [] : [{ kind: row.kind ?? "message", value: command.text, asked: row.asked }]
}

/**
 * Commands of everyday work on the project itself: what they run is code of the workspace, which the user chose. Instructions to run
 * them are found in every README.
 */
function isProjectCommand(command: SimpleCommand): boolean {
  const [first, ...words] = command.argv
  if (first === undefined) return command.redirections.every(({ target }) => isInside(target.text))
  const program = programName(command.program ?? "")
  const isStarted =
    /^\.?\/?[\w.-]+(?:\/[\w.-]+)*$/u.test(first.text) && first.text.includes("/") && isInside(first.text)
  if (!isStarted && !PROJECT_PROGRAMS.test(program) && !TEXT_PROGRAMS.has(program)) return false
  if (command.wrappers.some((wrapper) => !HARMLESS_WRAPPERS.has(programName(wrapper.program)))) return false
  const hasCode =
    INTERPRETERS.test(program) && words.some(({ text }) => /^-[a-z]*[cepr]$|^--(?:eval|print|run|import)/iu.test(text))
  const isPiped = INTERPRETERS.test(program) && command.input !== undefined
  if (hasCode || isPiped || (command.source !== "line" && command.source !== "substitution")) return false
  return (
    words.every(({ text, known }) => known && isInside(text)) &&
    command.redirections.every(
      ({ target }) => target.text === "/dev/null" || isInside(target.text) || /^\d$/u.test(target.text),
    )
  )
}

function isInside(path: string): boolean {
  return !isAbsolute(path) && !path.startsWith("~") && !/(?:^|[/=])\.\.(?:\/|$)/u.test(path) && !/=[/~]/u.test(path)
}

const HARMLESS_WRAPPERS: ReadonlySet<string> = new Set("time timeout nice command npx env".split(" "))
const PROJECT_PROGRAMS =
  /^(?:npm|npx|pnpm|yarn|bun|node|deno|python[\d.]*|pytest|tox|nox|poetry|uv|pip[\d.]*|pipenv|ruff|black|mypy|flake8|isort|pre-commit|cargo|rustc|rustfmt|clippy|go|gofmt|make|gmake|cmake|ninja|meson|ctest|just|task|mvn|gradle|gradlew|sbt|dotnet|swift|xcodebuild|ruby|rake|bundle|rspec|rails|php|composer|phpunit|mix|elixir|tsc|tsx|vite|vitest|jest|mocha|eslint|oxlint|prettier|webpack|turbo|nx|git|docker|docker-compose|podman|kubectl|terraform|bash|sh|source|\.|awk|xargs|tar|unzip|zip|chmod|export|which|whoami|pwd|date|env|ps|du|df|stat|file|tree|seq|set|wait)$/u
