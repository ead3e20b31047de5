import { pathForms } from "../command-paths.ts"
import type { CommandRule } from "../command-rule.ts"
import type { Effect } from "../command-verdict.ts"
import { isCredentialPath } from "../credential-paths.ts"
import { hasFlag, optionValues, subcommands, upstream } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { NETWORK_PROGRAMS, isLoopback, networkHost } from "../network-target.ts"
import { movesAccountSettings } from "../account-settings.ts"
import { PUBLISHER_RULES } from "./publishers.ts"
import { PUSH_RULES } from "./pushes.ts"
import type { ShellWord, SimpleCommand } from "../../shell/understood-command.ts"

const network = (call: Invocation): readonly Effect[] => [{ kind: "network", host: networkHost(call) }]
const isElsewhere = (call: Invocation): boolean => !isLoopback(networkHost(call))

/** Programs that print what a file or the environment contains. */
const READERS = new Set(
  "cat tac head tail less more nl od xxd hexdump base64 base32 basenc strings gzip zstd xz bzip2 tar zip openssl gpg env printenv set export declare sed awk grep rg find ls history pass security secret-tool sqlite3 dd tr cut sort".split(
    " ",
  ),
)
/** Text that the line itself contains. */
const isOwnText = ({ program }: SimpleCommand): boolean =>
  ["echo", "printf", "jq", "true", "date", "seq", "yes"].includes(program ?? "")

const readsFile = (call: Invocation): boolean =>
  (call.command.input?.kind === "file" && call.command.input.path.text !== "/dev/null") ||
  upstream(call.command, call.understood).some((command) => !isOwnText(command))

/** `tee >(wget -i -)`: what it reads is the output of a command that the line does not connect with it. */
const hasUnknownInput = ({ command: { input } }: Invocation): boolean =>
  input === undefined || (input.kind === "text" && !input.word.known)

const uploadsWithCurl = (call: Invocation): boolean => {
  const values = curlValues(call)
  const of = (...names: readonly string[]): readonly string[] =>
    values.filter(([name]) => names.includes(name)).map(([, value]) => value)
  const data = of("-d", "--data", "--data-binary", "--data-ascii", "--json").filter((value) => value.startsWith("@"))
  const encoded = [...of("--data-urlencode", "--url-query")].filter((value) => /^[^=]*@/u.test(value))
  const forms = of("-F", "--form").filter((value) => /=[@<]/u.test(value))
  const files = of("-T", "--upload-file")
  // Headers, a stored entity tag, and variables that other options insert.
  const headers = of("-H", "--header", "--proxy-header", "--url", "--expand-header").filter((value) =>
    value.startsWith("@"),
  )
  const tags = of("--etag-compare", "--variable", "--expand-variable").filter((value, index, all) => {
    const isTag = of("--etag-compare").includes(value) && all.indexOf(value) === index
    return isTag ? !of("--etag-save").includes(value) : /^%?[\w]*@/u.test(value)
  })
  const sources = [...[...data, ...headers].map((value) => value.slice(1)), ...encoded, ...forms, ...files, ...tags]
  return sources.some((source) => (/(?:^|[@<=])[-.]$/u.test(source) ? readsFile(call) : true))
}

/** The options of curl with their values, also those of packed short options such as `-sT file`. */
function curlValues(call: Invocation): readonly (readonly [name: string, value: string])[] {
  const found: (readonly [string, string])[] = []
  call.words.forEach(({ text }, index) => {
    const next = call.words[index + 1]?.text ?? ""
    if (text.startsWith("--")) {
      const at = text.indexOf("=")
      found.push(at === -1 ? [text, next] : [text.slice(0, at), text.slice(at + 1)])
      return
    }
    const parts = /^-([a-zA-Z0-9#:]*?)([AbcCdDeEFHhKmoPQrtTuUwxXyYz])(.*)$/su.exec(text)
    if (parts !== null) found.push([`-${parts[2]}`, parts[3] === "" ? next : (parts[3] ?? "")])
  })
  return found
}

/** Words of this command that contain the output of a program that reads files or the environment. */
const sendsSubstitution = (call: Invocation): boolean =>
  [...call.words, ...call.command.assignments.map(({ value }) => value)].some(
    ({ known, text }) => !known && SUBSTITUTED_READER.test(text),
  )
const NAMES_ONLY = new Set(["ls", "find", "sort", "tr", "cut"])
const SUBSTITUTED_READER = new RegExp(
  String.raw`(?:\$\(|${"`"}|[<>]\()(?:\s{0,9}<|[^)]{0,300}?\b(?:${[...READERS].filter((name) => !NAMES_ONLY.has(name)).join("|")})\b)`,
  "u",
)

/** Programs that load something from an address, which can carry data to its server. */
const ADDRESS_PROGRAMS = new Set(
  "git hg svn npm npx pnpm yarn bun deno pip pip3 pipx uv uvx poetry conda cargo go gem bundle composer docker podman helm brew ffmpeg ffprobe yt-dlp".split(
    " ",
  ),
)
const sendsInAddress = (call: Invocation): boolean =>
  call.words.some(({ known, text }) => !known && /:\/\/|^[\w.-]+@|^git\+/u.test(text) && SUBSTITUTED_READER.test(text))

/** Text of a file that reaches an address by way of a variable or of `xargs`, where the host is the same for all of it. */
const sendsReadText = (call: Invocation): boolean => {
  const { command, understood } = call
  const isFilled = call.command.wrappers.some(({ program }) => program === "xargs")
  const before = understood.commands.slice(0, understood.commands.indexOf(command))
  const reads = (other: SimpleCommand): boolean =>
    READS_TEXT.has(other.program ?? "")
      ? other.input?.kind === "file" || readsDescriptor(other) || upstream(other, understood).some(readsContent)
      : other.source === "substitution" && readsContent(other)
  if (call.words.some(({ known, text }) => !known && WHOLE_VARIABLE.test(text)) && before.some(buildsAddress))
    return true
  const carriers = [
    ...call.words.filter((word) => namesHost(word, call)),
    ...(TAKES_ADDRESSES.has(call.program) ? optionValues(call, ...CARRYING_OPTIONS) : []),
  ]
  if (carriers.some(({ known, text }) => !known && /\$\{?\w/u.test(text)) && before.some(reads)) return true
  if (!isFilled || carriers.length === 0) return false
  const fromFile = command.wrappers.some(({ argv }) => argv.some(({ text }) => /^-a|^--arg-file/u.test(text)))
  return fromFile || command.input?.kind === "file" || upstream(command, understood).some(readsContent)
}
/** Options whose value reaches the other machine: headers, the names of the user and of the program, cookies, the page before. */
const CARRYING_OPTIONS =
  "-H --header --proxy-header -A --user-agent -U -e --referer -b --cookie -u --user --oauth2-bearer --aws-sigv4 --login-options --url-query -r --range".split(
    " ",
  )
/** `read -u5 x` and `read x <&5`: which file it is was decided by an earlier `exec`. */
const readsDescriptor = ({ argv, redirections }: SimpleCommand): boolean =>
  argv.some(({ text }) => /^-[a-z]*u/u.test(text)) || redirections.some(({ operator }) => operator === "<&")
/** `printf -v url http://host/%s "$(cat file)"`. */
const buildsAddress = ({ program, argv }: SimpleCommand): boolean =>
  program === "printf" &&
  argv.some(({ text }) => text.startsWith("-v")) &&
  argv.some(({ known, text }) => !known && SUBSTITUTED_READER.test(text))
const WHOLE_VARIABLE = /^["']?\$\{?\w+\}?["']?$/u
const READS_TEXT = new Set(["read", "mapfile", "readarray"])
const FIXED_HOST = /^[a-z][a-z0-9+.-]*:\/\/[^/$`{}]+\//iu
/** `host.example/$data`. */
const WITHOUT_SCHEME = /^[^/$`{}\s=:.~-][^/$`{}\s]*[/?]/iu
const TAKES_ADDRESSES = new Set("curl curlie wget wget2 http https xh httpie lynx links w3m aria2c".split(" "))
const namesHost = ({ text }: ShellWord, { program }: Invocation): boolean =>
  FIXED_HOST.test(text) || (TAKES_ADDRESSES.has(program) && WITHOUT_SCHEME.test(text))
const readsContent = ({ program, argv }: SimpleCommand): boolean =>
  CONTENT_READERS.has(program ?? "") && argv.length > 1
const CONTENT_READERS = new Set(
  "cat tac head tail nl od xxd hexdump base64 base32 strings sed awk grep rg dd".split(" "),
)

const mentionsCredential = (call: Invocation): string | undefined => {
  const related = [call.command, ...upstream(call.command, call.understood), ...substitutions(call)]
  for (const command of related) {
    const files = command.input?.kind === "file" ? [command.input.path] : []
    for (const word of [...command.argv.slice(1), ...files]) {
      const path = credentialIn(word, command, call)
      if (path !== undefined) return path
    }
  }
  return undefined
}

function substitutions(call: Invocation): readonly SimpleCommand[] {
  return call.words.every(({ known }) => known)
    ? []
    : call.understood.commands.filter(({ source }) => source === "substitution")
}

function credentialIn(word: ShellWord, command: SimpleCommand, call: Invocation): string | undefined {
  const text = word.text
    .replace(/^(?:[\w-]*=)?[@<]/u, "")
    .replace(/^[^=]*=@/u, "")
    .replace(/^file:\/\//u, "")
  return pathForms({ ...word, text }, command.directory, call.facts).find(
    (path) => isCredentialPath(path, call.facts) || /\/\.env(?:\.[\w.]+)?$/u.test(path),
  )
}

const dumpsEnvironment = (call: Invocation): boolean =>
  [...upstream(call.command, call.understood), ...substitutions(call)].some(
    ({ program, argv }) =>
      (["env", "printenv", "set", "export", "declare", "history"].includes(program ?? "") && argv.length < 3) ||
      argv.some(({ text }) => /^\/proc\/[^/]+\/environ$/u.test(text)),
  )

const SENDERS = [
  "nc",
  "sftp",
  "ncat",
  "netcat",
  "socat",
  "telnet",
  "ftp",
  "lftp",
  "tftp",
  "openssl",
  "websocat",
  "wscat",
  "mail",
  "mailx",
  "sendmail",
  "mutt",
  "msmtp",
  "swaks",
  "s-nail",
  "gnutls-cli",
  "kcat",
  "kafkacat",
  "kafka-console-producer",
  "mosquitto_pub",
  "amqp-publish",
  "stunnel",
]
/** `socat FILE:x TCP:host:80`. */
const relaysFile = (call: Invocation): boolean =>
  call.operands.some(({ text }) => /^(?:file|open|gopen|create|pipe|exec|system):|^[./~]/iu.test(text)) &&
  call.operands.some(
    ({ text }) =>
      /^(?:tcp|udp|openssl|ssl|sctp|socks)\w*:/iu.test(text) && !/:(?:localhost|127\.[\d.]+)(?::|$)/iu.test(text),
  )

/** Settings and variables of git whose value it sends with each request. */
const sendsWithGit = (call: Invocation): boolean =>
  [...optionValues(call, "-c", "--config"), ...call.operands.slice(1)].some(
    ({ known, text }, index, all) =>
      (!known || !(all[index + 1]?.known ?? true)) &&
      /^http\.(?:.+\.)?(?:extraheader|useragent|cookiefile)/iu.test(text),
  ) ||
  call.command.assignments.some(
    ({ name, value }) => /^GIT_HTTP_USER_AGENT$/u.test(name) && !value.known && /\$\(|`|\$\w/u.test(value.text),
  )
const NETWORK_NAMES = [...NETWORK_PROGRAMS]
const sub = (call: Invocation, ...names: readonly string[]): boolean => {
  const found = subcommands(call)
  return names.some((name) => name.split(" ").every((part, index) => found[index] === part))
}

const namesConnection = ({ text }: ShellWord): boolean => /\/dev\/(?:tcp|udp)\//u.test(text)

export const EXFILTRATION_RULES: readonly CommandRule[] = [
  {
    key: "send credentials to another machine",
    programs: [...NETWORK_NAMES, "git", "gh", "npm", "python", "python3", "node", "perl", "ruby", "php"],
    // What takes long comes last.
    when: (call) =>
      (NETWORK_PROGRAMS.has(call.program) || dumpsOrReads(call)) &&
      !isLocalUse(call) &&
      (mentionsCredential(call) !== undefined || dumpsEnvironment(call)) &&
      !isKeyUser(call),
    does: "sends credentials or the environment to another program or machine",
    effects: (call) => [...network(call), { kind: "credentials", path: mentionsCredential(call) ?? "the environment" }],
  },
  {
    key: "upload a file",
    programs: ["curl", "curlie"],
    when: (call) => uploadsWithCurl(call) && isElsewhere(call),
    does: "sends a file to another machine",
    effects: network,
  },
  {
    key: "options from a file",
    programs: ["curl"],
    when: (call) =>
      curlValues(call).some(
        ([name, value]) => (name === "-K" || name === "--config") && !/(?:^|\/)\.?curlrc$/u.test(value),
      ),
    does: "takes its addresses and data from a file that is not judged",
    effects: network,
  },
  {
    key: "upload a file",
    programs: ["ffmpeg", "avconv", "gst-launch-1.0"],
    when: (call) =>
      isElsewhere(call) &&
      /^(?!file:)[a-z][a-z0-9+.-]*:\/\//iu.test(call.operands.at(-1)?.text ?? "") &&
      call.operands.length > 1,
    does: "sends a file to another machine",
    effects: network,
  },
  {
    key: "options from a file",
    programs: ["wget", "wget2", "aria2c"],
    when: (call) =>
      optionValues(call, "-i", "--input-file").some(({ text }) =>
        text === "-" ? hasUnknownInput(call) || readsFile(call) : optionValues(call, "-B", "--base").length > 0,
      ),
    does: "takes addresses from text that is not judged, which then reaches other machines",
    effects: network,
  },
  {
    key: "options from a file",
    programs: ["curl", "curlie", "wget", "wget2"],
    when: movesAccountSettings,
    does: "takes its addresses and data from settings that are not judged",
    effects: network,
  },
  {
    key: "options from a file",
    programs: ["wget", "wget2"],
    when: (call) =>
      optionValues(call, "-e", "--execute").some(({ text }) => !/^\s*robots\s*=\s*(?:off|on)\s*$/iu.test(text)) ||
      hasFlag(call, /^--(?:use-askpass|config)(?:=|$)/u),
    does: "changes settings with which it sends and writes files or starts a program",
    effects: (call) => [...network(call), { kind: "code" }],
  },
  {
    key: "upload a file",
    programs: ["wget", "wget2"],
    when: (call) => hasFlag(call, /^--(?:post|body)-file/u) && isElsewhere(call),
    does: "sends a file to another machine",
    effects: network,
  },
  {
    key: "upload a file",
    programs: ["http", "https", "httpie", "xh"],
    when: (call) =>
      isElsewhere(call) &&
      (call.words.some(({ text }) => /^[^=:]+(?:@|=@|:=@)[^@]+$/u.test(text) && !text.startsWith("-")) ||
        call.command.input?.kind === "file"),
    does: "sends a file to another machine",
    effects: network,
  },
  {
    key: "send data to another machine",
    programs: SENDERS,
    when: (call) =>
      isElsewhere(call) &&
      (call.program === "openssl"
        ? call.operands[0]?.text === "s_client" && readsFile(call)
        : readsFile(call) || call.command.input?.kind === "text" || sendsSubstitution(call)),
    does: "sends data to another machine",
    effects: network,
  },
  ...PUBLISHER_RULES,
  {
    key: "send data to another machine",
    programs: ["socat"],
    when: relaysFile,
    does: "connects a file or program with another machine",
    effects: network,
  },
  {
    key: "send the output of a command to another machine",
    programs: ["git"],
    when: sendsWithGit,
    does: "sends the output of a command with the requests of git",
    effects: network,
  },
  {
    key: "send the output of a command to another machine",
    programs: ["openssl", "gnutls-cli", "ldapsearch", "smbclient"],
    when: (call) =>
      isElsewhere(call) &&
      (call.program !== "openssl" || call.operands[0]?.text === "s_client") &&
      (sendsSubstitution(call) || (call.command.input?.kind === "text" && !call.command.input.word.known)),
    does: "sends the output of a command to another machine",
    effects: network,
  },
  {
    key: "open a connection that runs a program",
    programs: ["nc", "ncat", "netcat", "socat"],
    when: (call) =>
      hasFlag(call, /^-[a-zA-Z]*[ec]$|^--(?:exec|sh-exec|lua-exec)/u) ||
      call.operands.some(({ text }) => /^(?:exec|system|shell)[:,]/iu.test(text)),
    does: "lets another machine control a program here",
    effects: (call) => [...network(call), { kind: "code" }],
  },
  {
    key: "open a connection that runs a program",
    programs: ["ttyd", "gotty", "wetty", "sshd", "tmate", "upterm", "dropbear"],
    when: (call) => call.words.length > 0 && !hasFlag(call, /^--(?:help|version)$|^-[tTV]$/u),
    does: "lets other machines control a shell here",
    effects: (call) => [...network(call), { kind: "code" }],
  },
  {
    key: "network connection of the shell",
    programs: ["*"],
    when: (call) =>
      call.words.some(namesConnection) || call.command.redirections.some(({ target }) => namesConnection(target)),
    does: "opens a network connection of the shell",
    effects: (call) => [{ kind: "network", host: deviceHost(call) }],
  },
  {
    key: "send the output of a command to another machine",
    programs: NETWORK_NAMES,
    when: (call) => (sendsSubstitution(call) || sendsReadText(call)) && isElsewhere(call),
    does: "sends the output of a command to another machine",
    effects: network,
  },
  {
    key: "send the output of a command to another machine",
    programs: [...ADDRESS_PROGRAMS],
    when: (call) => sendsInAddress(call) && isElsewhere(call),
    does: "sends the output of a command to another machine, as a part of an address",
    effects: network,
  },
  ...PUSH_RULES,
  {
    key: "publish to a public service",
    programs: [
      "npm",
      "pnpm",
      "yarn",
      "cargo",
      "twine",
      "gem",
      "docker",
      "podman",
      "gh",
      "poetry",
      "uv",
      "hatch",
      "flit",
      "dotnet",
      "mvn",
      "gist",
      "vsce",
      "clawhub",
    ],
    when: (call) =>
      !hasFlag(call, /^--dry-run$/u) &&
      (sub(
        call,
        "publish",
        "upload",
        "gist create",
        "gist edit",
        "release create",
        "release upload",
        "nuget push",
        "deploy",
      ) ||
        (["gem", "docker", "podman"].includes(call.program) && sub(call, "push")) ||
        (call.program === "yarn" && sub(call, "npm publish")) ||
        call.program === "gist"),
    does: "publishes files",
    effects: [{ kind: "person" }],
  },
  {
    key: "copy to cloud storage",
    programs: ["aws", "gsutil", "gcloud", "az", "rclone", "s3cmd", "mc", "doctl", "b2", "croc", "wormhole", "ffsend"],
    when: (call) =>
      sub(
        call,
        "s3 cp",
        "s3 sync",
        "s3 mv",
        "s3api put-object",
        "cp",
        "rsync",
        "storage cp",
        "storage rsync",
        "storage blob upload",
        "copy",
        "sync",
        "move",
        "put",
        "upload-file",
        "send",
        "upload",
      ) && !/^(?:s3|gs|\w+):/u.test(subcommands(call).at(-2) ?? ""),
    does: "copies files to cloud storage",
    effects: network,
  },
  {
    key: "tunnel to another machine",
    programs: ["ssh", "ngrok", "cloudflared", "chisel", "bore", "frpc", "tailscale"],
    when: (call) =>
      call.program === "ssh"
        ? hasFlag(call, /^-[a-zA-Z]*[RD]/u)
        : call.program === "tailscale"
          ? sub(call, "funnel", "serve", "up")
          : call.operands.length > 0,
    does: "opens a tunnel through which other machines reach this one",
    effects: network,
  },
]

/** `openssl rsa` and `curl file://` contact no machine; what they read is judged as reading. */
function isLocalUse(call: Invocation): boolean {
  if (call.program === "openssl") return call.operands[0]?.text !== "s_client"
  return (
    call.program === "curl" &&
    call.operands.some(({ text }) => /^file:/iu.test(text)) &&
    !call.operands.some(({ text }) => /^(?!file:)[a-z]+:\/\//iu.test(text))
  )
}

/** Programs that use a key and do not show it. */
function isKeyUser(call: Invocation): boolean {
  return (
    ["ssh", "scp", "sftp", "rsync", "ssh-copy-id", "git", "aws", "gcloud"].includes(call.program) &&
    !upstream(call.command, call.understood).length &&
    call.command.input?.kind !== "file" &&
    call.operands
      .slice(0, call.program === "scp" || call.program === "rsync" ? -1 : 0)
      .every((word) => credentialIn(word, call.command, call) === undefined || isIdentity(call, word))
  )
}

function isIdentity(call: Invocation, word: ShellWord): boolean {
  return optionValues(call, "-i", "-F", "-e", "--profile").some(({ text }) => text.includes(word.text))
}

/** An interpreter that reads credentials from its input. */
function dumpsOrReads(call: Invocation): boolean {
  return ["git", "gh", "npm"].includes(call.program)
    ? false
    : upstream(call.command, call.understood).length > 0 || call.command.input?.kind === "file"
}

function deviceHost(call: Invocation): string | undefined {
  const text = [...call.words, ...call.command.redirections.map(({ target }) => target)]
    .map((word) => word.text)
    .join(" ")
  return /\/dev\/(?:tcp|udp)\/([^/\s]+)/u.exec(text)?.[1]
}
