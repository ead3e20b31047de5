import { absolutePath, pathForms } from "../command-paths.ts"
import type { CommandRule } from "../command-rule.ts"
import type { Effect } from "../command-verdict.ts"
import { holdsCredentials, isCredentialPath } from "../credential-paths.ts"
import { hasFlag, optionValues, subcommands } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { NAME_LOOKUP_PROGRAMS, NETWORK_PROGRAMS, isLoopback, networkHost } from "../network-target.ts"
import { sentToken } from "../registry-settings.ts"
import { isWithin } from "../../file-floor.ts"
import type { ShellWord, SimpleCommand } from "../../shell/understood-command.ts"

const network = (call: Invocation): readonly Effect[] => [{ kind: "network", host: networkHost(call) }]
const isElsewhere = (call: Invocation): boolean => !isLoopback(networkHost(call))
const says = (call: Invocation, pattern: RegExp): boolean => call.words.some(({ text }) => pattern.test(text))
const isComputed = ({ known, text }: ShellWord): boolean => !known && /[$`]/u.test(text)
const ENV_FILE = /(?:^|\/)\.env(?:\.[\w.]+)?$/u

const DATA_OPTIONS = [
  ..."-d --data --data-raw --data-ascii --data-binary --data-urlencode --json -F --form --form-string --url-query".split(
    " ",
  ),
  ..."--post-data --body-data".split(" "),
]

/** A variable whose name says that it holds a secret. */
const SECRET_VARIABLE =
  /\$\{?!?\w*(?:SECRET|TOKEN|PASSW(?:OR)?D|PASSPHRASE|API_?KEY|PRIVATE_?KEY|ACCESS_?KEY|CREDENTIAL)\w*/iu
const isSecret = ({ known, text }: ShellWord): boolean => !known && SECRET_VARIABLE.test(text)

/** Secrets in an address or in the data; in a header they are how a service knows the user. */
const sendsSecret = (call: Invocation): boolean => {
  const headers = optionValues(call, "-H", "--header", "-u", "--user", "--oauth2-bearer").map(({ text }) => text)
  return call.words.some(
    (word) => isSecret(word) && !headers.includes(word.text) && !headers.some((text) => word.text.endsWith(text)),
  )
}

/** Earlier commands of the line put a file with secrets into variables. */
const readsSecretsBefore = (call: Invocation): boolean => {
  if (!call.words.some(isComputed)) return false
  const at = call.understood.commands.indexOf(call.command)
  return call.understood.commands
    .slice(0, at)
    .some((command) => READS_VARIABLES.has(command.program ?? "") && namesSecrets(command, call))
}
const READS_VARIABLES = new Set(["read", "mapfile", "readarray", "source", ".", "export", "set", "eval"])

function namesSecrets(command: SimpleCommand, call: Invocation): boolean {
  const files = command.input?.kind === "file" ? [command.input.path] : []
  return [...command.argv.slice(1), ...files, ...command.redirections.map(({ target }) => target)].some(
    (word) =>
      ENV_FILE.test(word.text) ||
      pathForms(word, command.directory, call.facts).some((path) => isCredentialPath(path, call.facts)),
  )
}

/** `"$(cat .env)"` as an argument, or `xargs -a .env`. */
const passesSecrets = (call: Invocation): boolean =>
  (call.words.some(isComputed) &&
    call.understood.commands.some((command) => command.source === "substitution" && namesSecrets(command, call))) ||
  call.command.wrappers.some(({ program, argv }) => program === "xargs" && argv.some(({ text }) => ENV_FILE.test(text)))

const servedDirectories = (call: Invocation): readonly ShellWord[] => {
  const here: ShellWord = { text: ".", known: true, pattern: false }
  const given = (words: readonly ShellWord[]): readonly ShellWord[] => (words.length > 0 ? words : [here])
  if (call.program.startsWith("python"))
    return says(call, /^(?:http\.server|SimpleHTTPServer|pyftpdlib|twisted)$/u)
      ? given(optionValues(call, "-d", "--directory"))
      : []
  if (call.program === "php") return hasFlag(call, /^-S/u) ? given(optionValues(call, "-t")) : []
  if (call.program === "ruby") return hasFlag(call, /^-run$/u) ? given(call.operands.slice(1, 2)) : []
  if (call.program === "git")
    return ["daemon", "instaweb", "upload-pack", "http-backend"].includes(subcommands(call)[0] ?? "")
      ? given([...optionValues(call, "--base-path"), ...call.operands.slice(1)])
      : []
  if (call.program === "caddy") return given(optionValues(call, "--root", "-r"))
  if (call.program === "busybox") return says(call, /^httpd$/u) ? given(optionValues(call, "-h")) : []
  return given(
    call.operands.filter(({ text }) => !/^(?:serve|http-server|live-server)(?:@.*)?$/u.test(text)).slice(0, 1),
  )
}

const servesOutside = (call: Invocation): boolean =>
  servedDirectories(call).some((word) => {
    const path = absolutePath(word, call.command.directory)
    if (path === undefined) return word.text.startsWith("$")
    return holdsCredentials(path, call.facts) || path === "/" || (call.program !== "npx" && isOutside(path, call))
  })

function isOutside(path: string, { facts }: Invocation): boolean {
  return !isWithin(path, facts.workspaceRoot) && !/^\/(?:tmp|var\/www|srv)(?:\/|$)/u.test(path)
}

const SERVERS = [
  "python",
  "python2",
  "python3",
  "php",
  "ruby",
  "git",
  "caddy",
  "busybox",
  "serve",
  "http-server",
  "live-server",
]
const isServerPackage = (call: Invocation): boolean =>
  call.program !== "npx" || says(call, /^(?:serve|http-server|live-server)(?:@.*)?$/u)

/** The services that give a cloud machine its credentials, in any notation of the address. */
const METADATA_NAME =
  /(?:^|[/@.:'"=([])(?:169\.254\.(?:169\.254|170\.2(?:3)?|0\.23)|metadata\.google\.internal|metadata\.(?:azure\.(?:com|internal)|oraclecloud\.com|tencentyun\.com)|instance-data(?:\.ec2\.internal)?|100\.100\.100\.200|192\.0\.0\.192|fd00:ec2::(?:254|23)|::ffff:(?:169\.254\.|a9fe:)[\da-f.]+)(?![\w-])/iu
const METADATA_ADDRESSES = new Set([
  "169.254.169.254",
  "169.254.170.2",
  "169.254.170.23",
  "100.100.100.200",
  "192.0.0.192",
])

/** `0xa9fea9fe` and `2852039166` have ten characters. */
const SHORTEST_ADDRESS = 10

const readsMetadata = (call: Invocation): boolean =>
  call.words.some(({ text }) => {
    if (text.length < SHORTEST_ADDRESS) return false
    if (METADATA_NAME.test(text)) return true
    const host = /^(?:[a-z]+:\/\/)?(?:[^/@]*@)?((?:0x[\da-f]+|\d+)(?:\.(?:0x[\da-f]+|\d+)){0,3})(?:[:/?]|$)/iu.exec(
      text,
    )?.[1]
    return host !== undefined && METADATA_ADDRESSES.has(dottedAddress(host) ?? "")
  })

/** `0xa9fea9fe`, `2852039166` and `0251.0376.0251.0376` are notations of one address. */
function dottedAddress(host: string): string | undefined {
  const numbers = host.split(".").map((part) => (/^0\d/u.test(part) ? Number.parseInt(part, 8) : Number(part)))
  const last = numbers.pop()
  if (last === undefined || [...numbers, last].some((number) => !Number.isSafeInteger(number) || number < 0))
    return undefined
  const count = 4 - numbers.length
  const rest = Array.from({ length: count }, (_, index) => Math.floor(last / 256 ** (count - 1 - index)) % 256)
  return [...numbers, ...rest].join(".")
}

/** Tokens of a service in a header for a host of another one. */
const sendsForeignToken = (call: Invocation): boolean => {
  const host = networkHost(call)
  if (host === undefined || isLoopback(host)) return false
  const headers = optionValues(call, "-H", "--header", "-u", "--user", "--oauth2-bearer", "--header=")
  return headers.some(({ known, text }) => {
    const service = known ? undefined : SERVICE_TOKEN.exec(text)?.[1]?.toLowerCase()
    const hosts = service === undefined ? undefined : SERVICE_HOSTS[service]
    return hosts !== undefined && !hosts.test(host)
  })
}

const SERVICE_TOKEN =
  /\$\{?(github|gh|gitlab|openai|anthropic|aws|npm|hf|huggingface|slack|stripe|cloudflare|digitalocean|discord|telegram|sentry|heroku|vercel|netlify|linear|notion|openrouter|groq|mistral|gemini)_\w*(?:TOKEN|KEY|PAT|SECRET)\w*/iu
const SERVICE_HOSTS: Readonly<Record<string, RegExp>> = {
  github: /(?:^|\.)github(?:usercontent|copilot)?\.(?:com|io)$|github/u,
  gh: /github|ghcr\.io$/u,
  gitlab: /gitlab/u,
  openai: /openai/u,
  anthropic: /anthropic|claude/u,
  aws: /amazonaws|aws/u,
  npm: /npm/u,
  hf: /huggingface|(?:^|\.)hf\.co$/u,
  huggingface: /huggingface|(?:^|\.)hf\.co$/u,
  slack: /slack/u,
  stripe: /stripe/u,
  cloudflare: /cloudflare|workers\.dev$/u,
  digitalocean: /digitalocean/u,
  discord: /discord/u,
  telegram: /telegram/u,
  sentry: /sentry/u,
  heroku: /heroku/u,
  vercel: /vercel/u,
  netlify: /netlify/u,
  linear: /linear/u,
  notion: /notion/u,
  openrouter: /openrouter/u,
  groq: /groq/u,
  mistral: /mistral/u,
  gemini: /googleapis|google/u,
}

/** `$data.example.com`, and labels that are longer than names that people choose. */
const carriesData = ({ known, text }: ShellWord): boolean =>
  known
    ? text.includes(".") && text.split(".").some((label) => /^(?:[\da-f]{32,}|[a-z2-7]{40,}|[\w-]{50,})$/iu.test(label))
    : /\$(?:\w+|\{[^}]*\})[\w-]*\.[\w-]/u.test(text)

/** `dig -f FILE`, `nslookup < FILE`: every line is sent as a name. */
const looksUpFile = (call: Invocation): boolean => {
  if (["dig", "kdig", "delv", "fping", "ssh-keyscan"].includes(call.program) && optionValues(call, "-f").length > 0)
    return true
  if (call.program === "nmap") return optionValues(call, "-iL").length > 0
  if (call.program !== "nslookup" && call.program !== "fping") return false
  return call.command.input?.kind === "file" || call.command.input?.kind === "command"
}

/** Data that leaves this machine in the arguments of a program, and directories that are opened to others. */
export const OUTGOING_DATA_RULES: readonly CommandRule[] = [
  {
    key: "send computed data to another machine",
    programs: ["curl", "curlie", "wget", "wget2"],
    when: (call) => optionValues(call, ...DATA_OPTIONS).some(isComputed) && isElsewhere(call),
    does: "sends what the shell computes to another machine",
    effects: network,
  },
  {
    key: "send credentials to another machine",
    programs: [...NETWORK_PROGRAMS],
    when: (call) => isElsewhere(call) && (sendsSecret(call) || readsSecretsBefore(call)),
    does: "sends a secret to another machine",
    effects: (call) => [...network(call), { kind: "credentials", path: "the environment" }],
  },
  {
    key: "send credentials to another machine",
    programs: [...NETWORK_PROGRAMS, "gh", "glab", "docker", "podman", "npm", "slack", "ntfy"],
    when: (call) => isElsewhere(call) && passesSecrets(call),
    does: "sends a secret to another machine",
    effects: [{ kind: "credentials", path: ".env" }],
  },
  {
    key: "send a token to another service",
    programs: ["curl", "curlie", "wget", "wget2", "http", "https", "xh"],
    when: sendsForeignToken,
    does: "sends the token of a service to a host of another one",
    effects: (call) => [...network(call), { kind: "credentials", path: "the environment" }],
  },
  {
    key: "send data to another machine",
    programs: ["rsync"],
    when: (call) => /^(?:rsync:\/\/|[\w.-]+::)/u.test(call.operands.at(-1)?.text ?? "") && isElsewhere(call),
    does: "sends files to a public rsync service",
    effects: network,
  },
  {
    key: "send data to another machine",
    programs: ["lftp", "sftp", "ftp", "ncftpput", "curlftpfs"],
    when: (call) => call.program === "ncftpput" || says(call, /(?:^|;|\s)(?:m?put|mirror\s+(?:-\w*R|--reverse))\s/u),
    does: "sends files to another machine",
    effects: network,
  },
  {
    key: "send data to another machine",
    programs: ["tftp", "atftp", "logger"],
    when: (call) =>
      call.program === "logger"
        ? optionValues(call, "-n", "--server").some(({ text }) => !isLoopback(text))
        : says(call, /(?:^|\s)(?:put|-p|--put)(?:\s|$)/u),
    does: "sends files or text to another machine",
    effects: network,
  },
  {
    key: "send data in the name of a host",
    programs: [...NAME_LOOKUP_PROGRAMS, "ssh-keyscan", "nmap"],
    when: looksUpFile,
    does: "looks up names that are the lines of a file",
    effects: network,
  },
  {
    key: "send the output of a command to another machine",
    programs: ["ssh-keyscan", "nmap"],
    when: (call) => call.words.some(({ known, text }) => !known && /\$\([^)]|`/u.test(text)),
    does: "sends the output of a command to another machine",
    effects: network,
  },
  {
    key: "send the output of a command to another machine",
    programs: NAME_LOOKUP_PROGRAMS,
    when: (call) => call.words.some(({ known, text }) => !known && /\$\([^)]|`/u.test(text)),
    does: "sends the output of a command to another machine",
    effects: network,
  },
  {
    key: "send data in the name of a host",
    programs: NAME_LOOKUP_PROGRAMS,
    when: (call) => call.words.some(carriesData),
    does: "sends data to another machine as a part of a name",
    effects: network,
  },
  {
    key: "send a token to another service",
    programs: ["npm", "npx", "pnpm", "pnpx", "yarn", "yarnpkg", "bun", "bunx", "cargo", "uv", "uvx", "bundle", "gem"],
    when: (call) => sentToken(call.command, call.facts) !== undefined,
    does: "sends a token of the environment to a host that settings of the project name",
    effects: (call) => [
      { kind: "network", host: sentToken(call.command, call.facts)?.host },
      { kind: "credentials", path: "the environment" },
    ],
  },
  {
    key: "serve a directory to other machines",
    programs: [...SERVERS, "npx"],
    when: (call) => isServerPackage(call) && servesOutside(call),
    does: "lets other programs and machines read a directory outside of the workspace",
    effects: [{ kind: "person" }],
  },
  {
    key: "read credentials of the cloud machine",
    programs: ["*"],
    when: readsMetadata,
    does: "reads the service that gives this machine its cloud credentials",
    effects: [{ kind: "credentials", path: "the metadata service" }],
  },
  {
    key: "copy credentials",
    programs: ["docker", "podman", "kubectl", "oc", "nerdctl"],
    when: (call) =>
      (subcommands(call).some((word, index) => index < 2 && word === "cp") ||
        optionValues(call, "--secret", "--ssh", "--env-file").length > 0) &&
      call.words.some((word) => {
        const text = /(?:^|,)(?:src|source)=([^,]+)/u.exec(word.text)?.[1] ?? word.text
        return pathForms({ ...word, text }, call.command.directory, call.facts).some(
          (path) =>
            isCredentialPath(path, call.facts) ||
            /\/\.(?:ssh|aws|gnupg|kube)$/u.test(path) ||
            path === call.facts.userHome,
        )
      }),
    does: "copies files that hold keys or logins",
    effects: (call) => [{ kind: "credentials", path: call.facts.userHome }],
  },
  {
    key: "speak another protocol by an address",
    programs: ["curl", "wget"],
    when: (call) => says(call, /^(?:gopher|dict|smtps?|telnet|ldaps?|tftp):\/\//iu),
    does: "sends raw bytes to a service",
    effects: network,
  },
]
