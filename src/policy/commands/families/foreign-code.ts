import { posix } from "node:path"
import { absolutePath } from "../command-paths.ts"
import { CODE, PERSON } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import { hasFlag, invocations, optionValues, programName, subcommands, upstream } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import type { ShellWord } from "../../shell/understood-command.ts"
import { networkHost } from "../network-target.ts"
import { curlOutput, wgetOutput } from "../written-paths.ts"

export const SHELLS = ["sh", "bash", "zsh", "ksh", "dash", "ash", "fish", "csh", "tcsh", "mksh", "rbash"]
export const SCRIPT_RUNNERS = ["python", "python2", "python3", "perl", "ruby", "node"]
const OTHER_RUNNERS = [
  "php",
  "lua",
  "luajit",
  "deno",
  "bun",
  "osascript",
  "rscript",
  "tclsh",
  "julia",
  "elixir",
  "groovy",
  "scala",
  "pypy",
  "pypy3",
  "nodejs",
  "guile",
  "racket",
  "ghci",
  "pwsh",
  "expect",
  "ts-node",
  "tsx",
]
export const INTERPRETERS = [...SCRIPT_RUNNERS, ...OTHER_RUNNERS]
const DOWNLOADERS = new Set([
  "curl",
  "wget",
  "wget2",
  "aria2c",
  "fetch",
  "http",
  "https",
  "lynx",
  "nc",
  "ncat",
  "netcat",
  "socat",
  "ftp",
  "scp",
  "ssh",
  "telnet",
  "gh",
  "openssl",
  "dig",
  "nslookup",
  "host",
  "drill",
  "websocat",
])
const readsDownload = (call: Invocation): boolean =>
  upstream(call.command, call.understood).some(({ program }) =>
    ["curl", "wget", "wget2", "fetch", "aria2c", "http", "lynx"].includes(programName(program ?? "")),
  )
const readsOtherMachine = (call: Invocation): boolean =>
  upstream(call.command, call.understood).some(({ program }) => DOWNLOADERS.has(programName(program ?? "")))
const hasScript = (call: Invocation): boolean =>
  call.operands.length > 0 && call.operands[0]?.text !== "-" && !hasFlag(call, /^-s$/u)
const REMOTE_SUBSTITUTION =
  /(?:\$\(|`|<\()\s*(?:sudo\s+)?(?:\w+=\S*\s+)*(?:curl|wget|fetch|aria2c|nc|ncat|lynx|ssh|http)(?![\w-])/u
const runsSubstitution = (call: Invocation): boolean =>
  [...call.words, ...(call.command.input?.kind === "file" ? [call.command.input.path] : [])].some(
    ({ known, text }) => !known && REMOTE_SUBSTITUTION.test(text),
  )
/** Has a key of its own in 4.5. */
const isShellSubstitution = (call: Invocation): boolean =>
  [...SHELLS, "source", "."].includes(call.program) &&
  call.words.some(({ text }) => /<\(\s*(?:curl|wget)\b/u.test(text))
const network: CommandRule["effects"] = (call) => [{ kind: "network", host: networkHost(call) }, { kind: "code" }]
const URL = /^(?:git\+|https?:\/\/|git:\/\/|ssh:\/\/|git@|github:|gitlab:|bitbucket:|gist:|file:)/u
const sub = (call: Invocation, ...names: readonly string[]): boolean => names.includes(subcommands(call)[0] ?? "")
const INDEX_OPTIONS = ["-i", "--index-url", "--extra-index-url", "--index", "--default-index"]
/** A package that is named by its address. The address of a registry is judged apart. */
const fromUrl = (call: Invocation): boolean => {
  const registries = optionValues(call, ...INDEX_OPTIONS).map(({ text }) => text)
  return subcommands(call)
    .slice(1)
    .some((text) => !registries.includes(text) && (URL.test(text) || /@(?:https?|git\+|file):/u.test(text)))
}

export const FOREIGN_CODE_RULES: readonly CommandRule[] = [
  {
    key: "pipe remote content to shell",
    programs: [...SHELLS, "source", ".", "eval"],
    when: (call) =>
      readsDownload(call) &&
      !(SHELLS.includes(call.program) && hasScript(call) && !call.operands[0]?.text.startsWith("/dev/")),
    does: "runs what another machine sends",
    effects: network,
  },
  {
    key: "execute remote script via process substitution",
    programs: [...SHELLS, "source", "."],
    when: (call) => call.words.some(({ text }) => /<\(\s*(?:curl|wget)\b/u.test(text)),
    does: "runs what another machine sends",
    effects: network,
  },
  {
    key: "run downloaded code",
    programs: [...SHELLS, ...INTERPRETERS, "source", ".", "eval", "exec", "xargs", "awk", "make"],
    when: (call) =>
      (runsSubstitution(call) && !isShellSubstitution(call)) ||
      (readsOtherMachine(call) &&
        !(SHELLS.includes(call.program) && readsDownload(call)) &&
        (INTERPRETERS.includes(call.program)
          ? isStandardInputScript(call)
          : SHELLS.includes(call.program) && !hasScript(call))),
    does: "runs what another machine sends",
    effects: network,
  },
  {
    key: "run downloaded code",
    programs: ["*"],
    when: (call) => /^(?:https?|ftp|git\+\w+|github|gist):/iu.test(call.command.argv[0]?.text ?? ""),
    does: "runs code from an address",
    effects: network,
  },
  {
    key: "run downloaded code",
    programs: ["xargs", "parallel"],
    when: (call) =>
      readsOtherMachine(call) && [...SHELLS, ...INTERPRETERS].includes(programName(call.command.program ?? "")),
    does: "runs what another machine sends",
    effects: network,
  },
  {
    key: "run a downloaded file",
    programs: ["*"],
    when: runsDownloadedFile,
    does: "runs a file that the same line downloads",
    effects: CODE,
  },
  {
    key: "install a package from an unusual source",
    programs: ["pip", "pip3", "pipx", "uv", "uvx", "poetry", "easy_install", "python", "python2", "python3"],
    when: (call) => installsFromUnusualSource(asPip(call)),
    does: "installs code from an address that is not the usual registry",
    effects: network,
  },
  {
    key: "install a package from an unusual source",
    programs: ["npm", "pnpm", "yarn", "bun", "npx", "pnpx", "bunx"],
    when: (call) =>
      (sub(call, "install", "i", "add", "exec", "dlx", "x", "ci", "link") && fromUrl(call)) ||
      (["npx", "pnpx", "bunx"].includes(call.program) && startedPackages(call).some((text) => URL.test(text))) ||
      optionValues(call, "--registry").some(
        ({ text }) => !/^https:\/\/registry\.(?:npmjs\.org|yarnpkg\.com|npmmirror\.com)\/?$/u.test(text),
      ),
    does: "installs or runs code from an address that is not the usual registry",
    effects: network,
  },
  {
    key: "install a package from an unusual source",
    programs: [
      "cargo",
      "gem",
      "go",
      "deno",
      "conda",
      "brew",
      "apt-key",
      "add-apt-repository",
      "dpkg",
      "rpm",
      "composer",
      "luarocks",
      "nix",
      "nix-env",
      "nix-shell",
      "snap",
      "flatpak",
    ],
    when: (call) =>
      (call.program === "cargo" && sub(call, "install") && hasFlag(call, /^--(?:git|registry|index)/u)) ||
      (call.program === "gem" && sub(call, "install") && hasFlag(call, /^--source|^-s$/u)) ||
      (call.program === "deno" && (fromUrl(call) || hasFlag(call, /^-A$|^--allow-(?:all|run|ffi)/u))) ||
      (call.program === "brew" && (sub(call, "tap") ? subcommands(call).length > 2 : fromUrl(call))) ||
      call.program === "apt-key" ||
      call.program === "add-apt-repository" ||
      (["dpkg", "rpm"].includes(call.program) &&
        hasFlag(call, /^-[a-z]*[iUF]|^--(?:install|upgrade|unpack|configure)/u)) ||
      (call.program === "snap" && hasFlag(call, /^--(?:dangerous|devmode|classic)$/u)) ||
      (call.program.startsWith("nix") &&
        (fromUrl(call) || optionValues(call, "-f", "-I").some(({ text }) => URL.test(text)))),
    does: "installs code from an address that is not the usual registry",
    effects: network,
  },
  {
    key: "start a container from an unusual source",
    programs: ["docker", "podman"],
    when: (call) => (sub(call, "build") || sub(call, "buildx")) && subcommands(call).some((text) => URL.test(text)),
    does: "builds and runs code from another machine",
    effects: PERSON,
  },
  {
    key: "chmod +x followed by immediate execution",
    programs: ["*"],
    when: (call) => runsFileMadeExecutable(call),
    does: "runs a file that the same line makes executable",
    effects: CODE,
  },
]

/** `python -m pip` is pip. */
function asPip(call: Invocation): Invocation {
  if (!call.program.startsWith("python") || call.words[0]?.text !== "-m" || call.words[1]?.text !== "pip") return call
  return { ...call, program: "pip", words: call.words.slice(2) }
}

const UNUSUAL_OPTION =
  /^(?:-i|-f|--index-url|--extra-index-url|--find-links|--index|--trusted-host|--default-index)(?:=|$)/u

function installsFromUnusualSource(call: Invocation): boolean {
  if (call.program.startsWith("python")) return false
  if (optionValues(call, "--from", "--with").some(({ text }) => URL.test(text))) return true
  const installs = sub(call, "install", "add", "download", "run", "tool", "pip") || call.program === "easy_install"
  return installs && (fromUrl(call) || hasFlag(call, UNUSUAL_OPTION)) && !onlyUsualIndex(call)
}

/** The package that npx runs: the first operand, or the command that it wraps. */
function startedPackages(call: Invocation): readonly string[] {
  const wrapped = call.isWrapper ? call.command.argv.slice(0, 1) : []
  return [...call.operands.slice(0, 1), ...wrapped, ...optionValues(call, "-p", "--package")].map(({ text }) => text)
}

function isStandardInputScript(call: Invocation): boolean {
  return call.operands.length === 0
    ? !hasFlag(call, /^-[a-z]*[mceprn]/iu)
    : ["-", "/dev/stdin", "/dev/fd/0"].includes(call.operands[0]?.text ?? "")
}

function onlyUsualIndex(call: Invocation): boolean {
  const indexes = optionValues(call, ...INDEX_OPTIONS)
  const usual = /^https:\/\/(?:pypi\.org|test\.pypi\.org|download\.pytorch\.org|pypi\.python\.org)\//u
  return (
    !fromUrl(call) &&
    indexes.length > 0 &&
    indexes.every(({ text }) => usual.test(text)) &&
    !hasFlag(call, /^--trusted-host/u)
  )
}

/** Files that this command runs: its program, the script of an interpreter, the file of `source`. */
export function executedFiles(call: Invocation): readonly string[] {
  const { command } = call
  const program = command.argv[0]
  const script = RUN_SCRIPTS.has(call.program) ? call.operands[0] : undefined
  if (script === undefined && program?.text.includes("/") !== true) return []
  return [program?.text.includes("/") === true ? program : undefined, script].flatMap((word) => {
    const path = word === undefined ? undefined : absolutePath(word, command.directory)
    return path ?? []
  })
}

const RUN_SCRIPTS: ReadonlySet<string> = new Set([...SHELLS, ...INTERPRETERS, "source", "."])

function runsDownloadedFile(call: Invocation): boolean {
  const files = executedFiles(call)
  if (files.length === 0) return false
  const index = call.understood.commands.indexOf(call.command)
  return call.understood.commands.slice(0, index).some((earlier) => {
    if (!DOWNLOADERS.has(programName(earlier.program ?? ""))) return false
    const [download] = invocations(earlier, call.understood, call.facts)
    if (download === undefined) return false
    const written = download.program === "wget" ? wgetOutput(download) : curlOutput(download)
    const copied = download.program === "scp" || download.program === "rsync" ? download.operands.slice(0, -1) : []
    const words = [
      ...written.map(({ word }) => word),
      ...copied.map(withoutHost),
      ...earlier.redirections.map(({ target }) => target),
    ]
    return words.some((word) => {
      const path = absolutePath(word, earlier.directory)
      return path !== undefined && files.some((file) => file === path || posix.basename(file) === posix.basename(path))
    })
  })
}

function withoutHost(word: ShellWord): ShellWord {
  return { ...word, text: word.text.replace(/^[^/:]*:/u, "") }
}

function runsFileMadeExecutable(call: Invocation): boolean {
  const text = call.command.argv[0]?.text ?? ""
  if (!text.includes("/")) return false
  const file = absolutePath({ text, known: true, pattern: false }, call.command.directory)
  const index = call.understood.commands.indexOf(call.command)
  return call.understood.commands.slice(0, index).some((earlier) => {
    if (
      earlier.program !== "chmod" ||
      !earlier.argv.some((word) => /^[ugoa]*\+[rws]*x|^[0-7]*[1357][0-7]{0,2}$/u.test(word.text))
    )
      return false
    return earlier.argv.slice(2).some((word) => absolutePath(word, earlier.directory) === file)
  })
}
