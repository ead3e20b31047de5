import { pathForms } from "../command-paths.ts"
import type { CommandRule } from "../command-rule.ts"
import type { Effect } from "../command-verdict.ts"
import { holdsCredentials, isCredentialDirectory, isCredentialPath } from "../credential-paths.ts"
import { hasFlag, upstream } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import type { ShellWord } from "../../shell/understood-command.ts"

const paths = (call: Invocation, word: ShellWord): readonly string[] =>
  pathForms(word, call.command.directory, call.facts)

/** Operands of a program that reads or copies whole directories. */
function searched(call: Invocation): readonly ShellWord[] {
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
const SEARCHERS = ["grep", "egrep", "fgrep", "zgrep", ...RECURSIVE, ...COPIERS]

function searchedCredentials(call: Invocation): string | undefined {
  return searched(call)
    .flatMap((word) => paths(call, word))
    .find((path) => holdsCredentials(path, call.facts))
}

const FINDERS = new Set(["find", "gfind", "fd", "fdfind"])
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

/** The files of this command come from `find … -exec`, `fd -x` or a list for `xargs`. */
function foundCredentials(call: Invocation): string | undefined {
  if (call.isWrapper || WITHOUT_CONTENT.has(call.program) || call.command.source === "remote") return undefined
  const { command, understood, facts } = call
  const isFed = command.wrappers.some(({ program }) => program === "xargs" || program === "parallel")
  const lists = [
    ...command.wrappers.filter(({ program }) => FINDERS.has(program)).map(({ argv }) => argv),
    ...(isFed
      ? upstream(command, understood)
          .filter(({ program }) => LISTERS.has(program ?? ""))
          .map(({ argv }) => argv)
      : []),
  ]
  for (const argv of lists) {
    const words = argv.slice(1)
    const named = words.flatMap((word) => paths(call, word))
    const found = named.find((path) => isCredentialPath(path, facts) || isCredentialDirectory(path, facts))
    if (found !== undefined) return found
    if (!words.some(({ text }) => KEY_NAME.test(text))) continue
    const above = named.find((path) => holdsCredentials(path, facts))
    if (above !== undefined) return above
  }
  return undefined
}

const credentials =
  (find: (call: Invocation) => string | undefined) =>
  (call: Invocation): readonly Effect[] => [{ kind: "credentials", path: find(call) ?? "" }]

const PRINTED_SECRETS: Readonly<Record<string, RegExp>> = {
  kubectl: /^config view\b.*--raw\b|^(?:create token|get secrets?\b.*(?:-o|--output|--template))/u,
  oc: /^config view\b.*--raw\b|^whoami\b.*(?:-t|--show-token)\b/u,
  aws: /^configure (?:get|export-credentials)\b|^(?:ecr get-login|sts (?:assume-role|get-federation-token)|secretsmanager (?:get|batch-get)-secret|ssm get-parameters?\b|kms decrypt|codeartifact get-authorization-token)/u,
  git: /^credential(?:-\S+)? (?:fill|get)\b|^credential-\S+ get\b/u,
  gcloud: /^secrets versions access\b|^auth (?:print-|application-default print)|^iam service-accounts keys create\b/u,
  az: /^keyvault (?:secret|key) (?:show|download|backup)\b|^account get-access-token\b|\bkeys list\b|^ad sp (?:create-for-rbac|credential)\b/u,
  vault: /^(?:kv get|read|unwrap|print token|token create)\b/u,
  docker: /^(?:config get|secret inspect)\b/u,
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
    does: "reads or copies a directory that holds keys or logins",
    effects: credentials(searchedCredentials),
  },
  {
    key: "read credentials",
    programs: ["*"],
    when: (call) => foundCredentials(call) !== undefined,
    does: "reads files that hold keys or logins",
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
