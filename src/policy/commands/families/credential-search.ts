import { posix } from "node:path"
import { ACCOUNT_CREDENTIALS, HERMES_SECRETS } from "../../../config/protected-paths.ts"
import { pathForms } from "../command-paths.ts"
import type { CommandRule } from "../command-rule.ts"
import type { Effect } from "../command-verdict.ts"
import { holdsCredentials, isCredentialDirectory, isCredentialPath } from "../credential-paths.ts"
import { hasFlag, upstream } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { hasGlob } from "../shell-glob.ts"
import type { CommandWrapper, ShellWord, SimpleCommand } from "../../shell/understood-command.ts"

const paths = (call: Invocation, word: ShellWord): readonly string[] =>
  pathForms(word, call.command.directory, call.facts)

/** Operands of a program that reads or copies whole directories. */
function searched(call: Invocation): readonly ShellWord[] {
  if (COMPARERS.has(call.program)) return hasFlag(call, /^-[a-zA-Z0-9]*r|^--recursive$/u) ? call.operands : []
  if (COPIERS.has(call.program)) {
    const isRecursive = call.program === "rclone" || hasFlag(call, /^-[a-zA-Z]*[raRA]|^--(?:recursive|archive)$/u)
    return isRecursive ? call.operands.slice(0, -1) : []
  }
  const isRecursive =
    RECURSIVE.has(call.program) || hasFlag(call, /^-[a-zA-Z]*[rR]|^--(?:dereference-)?recursive$|^-drecurse$/u)
  if (!isRecursive) return []
  return hasFlag(call, /^-[a-zA-Z]*[ef]$|^--(?:regexp|file|files)(?:=|$)/u) ? call.operands : call.operands.slice(1)
}

const RECURSIVE = new Set(["rg", "ag", "ack", "ugrep", "git-grep"])
const COPIERS = new Set(["cp", "gcp", "rsync", "scp", "rclone"])
const COMPARERS = new Set(["diff", "colordiff", "gdiff"])
const SEARCHERS = [...COMPARERS, "grep", "egrep", "fgrep", "zgrep", ...RECURSIVE, ...COPIERS]

function searchedCredentials(call: Invocation): string | undefined {
  return searched(call)
    .flatMap((word) => paths(call, word))
    .find((path) => holdsCredentials(path, call.facts))
}

const FINDERS = new Set(["find", "gfind", "fd", "fdfind"])
/** They print the names that they are given, or where these lead. */
const PRINTED_LISTERS = new Set([...FINDERS, "ls", "readlink", "realpath"])
const LISTERS = new Set([...FINDERS, "ls", "locate", "echo", "printf", "grep", "rg"])
/** Programs that do not show what the files contain. */
const WITHOUT_CONTENT = new Set(
  "ls ll stat test [ chmod chown chgrp file realpath readlink dirname basename echo printf du touch rm rmdir unlink true ln wc mkdir".split(
    " ",
  ),
)
/** Names under which `find` looks for keys. */
const KEY_NAME =
  /(?:^|[*/.])(?:id_(?:rsa|dsa|ecdsa|ed25519)|\*?\.?(?:pem|key|p12|pfx|kdbx|keystore|jks|env|netrc|npmrc|pypirc|pgpass)|credentials?|[^/]*secrets?[^/]*|wallet\.dat|auth\.json|\.env\.?\*?)\*?$/iu

/** The files of this command come from `find … -exec`, `fd -x`, a list for `xargs`, or a list that the shell reads into words. */
function foundCredentials(call: Invocation): string | undefined {
  if (call.isWrapper || WITHOUT_CONTENT.has(call.program) || call.command.source === "remote") return undefined
  const { command, understood } = call
  const isFed = command.wrappers.some(({ program }) => program === "xargs" || program === "parallel")
  const isComputed = READERS.has(call.program) && call.words.some(({ known, text }) => !known && /[$`]/u.test(text))
  // Most commands get their files from their own words.
  if (!isFed && !isComputed && command.wrappers.length === 0) return undefined
  const lists: readonly CommandWrapper[] = [
    ...command.wrappers.filter(({ program }) => FINDERS.has(program)),
    ...(isFed ? upstream(command, understood).flatMap((one) => asList(one, LISTERS)) : []),
    // `cat $(find …)`, and the loops that read what `find` prints.
    ...(isComputed ? understood.commands.flatMap((one) => asList(one, PRINTED_LISTERS)) : []),
  ]
  const edited =
    isFed || isComputed
      ? editedCredentials(isFed ? upstream(command, understood) : understood.commands, call)
      : undefined
  if (edited !== undefined) return edited
  for (const list of lists) {
    const found = listedCredentials(list, call)
    if (found !== undefined) return found
  }
  return undefined
}

/** `sed 's,^,/home/alice/.aws/,'`: the script puts a directory with credentials in front of names. */
function editedCredentials(commands: readonly SimpleCommand[], { facts }: Invocation): string | undefined {
  for (const { program = "", argv } of commands) {
    if (!EDITORS.has(program)) continue
    for (const { text } of argv.slice(1))
      for (const [part] of text.matchAll(PATH_PART)) {
        const found = [part, posix.join(facts.userHome, part)].find(
          (path) => isCredentialPath(path, facts) || isCredentialDirectory(posix.normalize(path), facts),
        )
        if (found !== undefined) return found
      }
  }
  return undefined
}

const EDITORS: ReadonlySet<string> = new Set("sed gsed awk gawk mawk printf jq".split(" "))
const PATH_PART = /\/[\w.@%+/-]+/gu

function asList({ program = "", argv }: SimpleCommand, listers: ReadonlySet<string>): readonly CommandWrapper[] {
  return listers.has(program) ? [{ program, argv }] : []
}

function listedCredentials({ program, argv }: CommandWrapper, call: Invocation): string | undefined {
  const { facts } = call
  const words = argv.slice(1)
  const named = words.flatMap((word) => paths(call, word))
  const found = named.find((path) => isCredentialPath(path, facts) || isCredentialDirectory(path, facts))
  if (found !== undefined) return found
  const isKey = words.some(({ text }) => KEY_NAME.test(text))
  if (!FINDERS.has(program)) return isKey ? named.find((path) => holdsCredentials(path, facts)) : undefined
  if (!isKey && findsOrdinaryFiles(program, words)) return undefined
  return startingDirectories(program, words)
    .flatMap((word) => paths(call, word))
    .find((path) => holdsCredentials(path, facts))
}

/** Where `find` and `fd` look: the working directory unless they are told otherwise. */
function startingDirectories(program: string, words: readonly ShellWord[]): readonly ShellWord[] {
  const isFind = program.endsWith("find") && program !== "fdfind"
  const end = isFind ? words.findIndex(({ text }) => /^(?:-(?![HLPDO])|[(!])/u.test(text)) : -1
  const operands = (end === -1 ? words : words.slice(0, end)).filter(({ text }) => !text.startsWith("-"))
  const directories = isFind ? operands : operands.slice(1)
  return directories.length > 0 ? directories : [{ text: ".", known: true, pattern: false }]
}

/** The conditions let no file with keys or logins through. `fd` skips hidden files unless it is told otherwise. */
function findsOrdinaryFiles(program: string, words: readonly ShellWord[]): boolean {
  if (program === "fd" || program === "fdfind")
    return !words.some(({ text }) => /^-[a-zA-Z]*[HuI]|^--(?:hidden|unrestricted)$/u.test(text))
  const texts = words.map(({ text }) => text)
  if (texts.some((text, index) => text === "-type" && texts[index + 1] === "d")) return true
  const names = texts.filter(
    (_text, index) => /^-i?name$/u.test(texts[index - 1] ?? "") && !/^(?:!|-not)$/u.test(texts[index - 2] ?? ""),
  )
  const alternatives = texts.filter((text) => text === "-o" || text === "-or").length
  return names.length > alternatives && names.every(isOrdinaryName)
}

function isOrdinaryName(name: string): boolean {
  return hasGlob(name) ? ORDINARY_EXTENSION.test(name) : !CREDENTIAL_NAMES.has(name)
}

const ORDINARY_EXTENSION =
  /\.(?:md|mdx|txt|rst|org|tex|log|csv|tsv|pdf|png|jpe?g|gif|svg|webp|mp[34]|wav|html?|s?css|less|[cm]?[jt]sx?|vue|svelte|pyi?|ipynb|rb|rs|go|java|kts?|scala|swift|c|cc|cpp|cxx|h|hpp|hs|ml|ex|exs|erl|lua|php|pl|sh|sql|proto|patch|diff)$/u
const CREDENTIAL_NAMES: ReadonlySet<string> = new Set(
  [...ACCOUNT_CREDENTIALS, ...HERMES_SECRETS, "state.db", "config"].map((name) => posix.basename(name)),
)

/** Programs that show or pass on what the files in their arguments contain. */
const READERS = new Set(
  "cat tac head tail less more nl od xxd hexdump base64 base32 strings sed awk gawk grep egrep fgrep rg zgrep sort cut tr tee tar zip cp scp rsync curl wget nc openssl gpg dd jq gzip".split(
    " ",
  ),
)

const credentials =
  (find: (call: Invocation) => string | undefined) =>
  (call: Invocation): readonly Effect[] => [{ kind: "credentials", path: find(call) ?? "" }]

/** `npm config get //registry.npmjs.org/:_authToken` */
const PACKAGE_LOGIN = /^(?:(?:config|c) )?get\b.*(?:_auth|_password|authtoken|authident)/iu

const PRINTED_SECRETS: Readonly<Record<string, RegExp>> = {
  kubectl: /^config view\b.*--raw\b|^(?:create token|get secrets?\b.*(?:-o|--output|--template))/u,
  oc: /^config view\b.*--raw\b|^whoami\b.*(?:-t|--show-token)\b/u,
  aws: /^configure (?:get|export-credentials)\b|^(?:ecr get-login|sts (?:assume-role|get-federation-token)|secretsmanager (?:get|batch-get)-secret|ssm get-parameters?\b|kms decrypt|codeartifact get-authorization-token)/u,
  git: /^credential(?:-\S+)? (?:fill|get)\b|^credential-\S+ get\b/u,
  gcloud: /^secrets versions access\b|^auth (?:print-|application-default print)|^iam service-accounts keys create\b/u,
  az: /^keyvault (?:secret|key) (?:show|download|backup)\b|^account get-access-token\b|\bkeys list\b|^ad sp (?:create-for-rbac|credential)\b/u,
  vault: /^(?:kv get|read|unwrap|print token|token create)\b/u,
  docker: /^(?:config get|secret inspect)\b/u,
  npm: PACKAGE_LOGIN,
  pnpm: PACKAGE_LOGIN,
  yarn: PACKAGE_LOGIN,
  poetry: /^config (?:http-basic|pypi-token)\b/u,
  composer: /^(?:global )?config\b.*\b(?:http-basic|oauth|token|bearer)\b/u,
  heroku: /^(?:config(?::get)?|auth:token|authorizations)\b/u,
  fly: /^(?:auth token|tokens create)\b/u,
  doctl: /^auth token\b/u,
  gh: /^auth token\b|^auth status\b.*(?:-t|--show-token)\b/u,
  chezmoi: /^(?:secret|dump)\b/u,
  sops: /^(?:-d|--decrypt|decrypt|exec-)/u,
  age: /^(?:-d|--decrypt)\b/u,
  hermes: /^(?:auth|env|secrets?) (?:show|export|get|print|token)\b/u,
  terraform: /^(?:output\b.*(?:-raw|-json)\b|state pull\b)/u,
  infisical: /^(?:secrets|export)\b/u,
  gopass: /^(?:show|cat|grep)\b/u,
  passage: /^show\b/u,
  nmcli: /(?:^|\s)(?:-s|--show-secrets)\b/u,
  netsh: /\bkey=clear\b/u,
  certutil: /-exportPFX/iu,
}

/** Credentials that a command reaches by searching, by copying directories, or through the program that keeps them. */
export const CREDENTIAL_SEARCH_RULES: readonly CommandRule[] = [
  {
    key: "read credentials",
    programs: SEARCHERS,
    when: (call) => searchedCredentials(call) !== undefined,
    does: "reads or copies a directory that holds keys, logins or other conversations",
    effects: credentials(searchedCredentials),
  },
  {
    key: "read credentials",
    programs: ["*"],
    when: (call) => foundCredentials(call) !== undefined,
    does: "reads files that hold keys, logins or other conversations",
    effects: credentials(foundCredentials),
  },
  {
    key: "read a keyring or token",
    programs: Object.keys(PRINTED_SECRETS),
    when: (call) =>
      PRINTED_SECRETS[call.program]?.test(
        call.words
          .slice(0, 12)
          .map(({ text }) => text)
          .join(" "),
      ) === true,
    does: "prints a key, password or token",
    effects: (call) => [{ kind: "credentials", path: call.program }],
  },
]
