import { absolutePath, pathForms } from "../command-paths.ts"
import { PERSON } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import { isCredentialPath } from "../credential-paths.ts"
import { hasFlag, optionValues } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { writtenPaths } from "../written-paths.ts"
import type { ShellWord } from "../../shell/understood-command.ts"

/** Programs that name a key file without showing or copying what it contains. */
const WITHOUT_CONTENT = new Set(
  (
    "ls ll stat test [ [[ chmod chown chgrp file realpath readlink dirname basename cd pushd mkdir touch rm rmdir unlink ssh ssh-add ssh-keygen ssh-copy-id scp sftp " +
    "rsync echo printf which du tree find export ln exa eza lsd sha256sum kubectl helm docker aws npm fuser lsof"
  ).split(" "),
)

function credentialRead(call: Invocation): string | undefined {
  const { command, facts } = call
  const input: readonly ShellWord[] = [
    ...(command.input?.kind === "file" ? [command.input.path] : []),
    ...command.redirections.filter(({ operator }) => operator === "<").map(({ target }) => target),
  ]
  for (const word of input) {
    const found = credentialIn(word)
    if (found !== undefined) return found
  }
  if (WITHOUT_CONTENT.has(call.program)) return undefined
  for (const word of call.words) {
    const found = PLAIN_FLAG.test(word.text) ? undefined : credentialIn(withoutOption(word))
    // Most commands name no credentials, so that what they write is not needed.
    if (found !== undefined && !isWritten(word, call)) return found
  }
  return undefined

  function credentialIn(word: ShellWord): string | undefined {
    return pathForms(word, command.directory, facts).find((path) => isCredentialPath(path, facts))
  }
}

function isWritten({ text }: ShellWord, call: Invocation): boolean {
  return writtenPaths(call).some(({ method, word }) => method !== "hard link" && word.text === text)
}

/** An option that names no file. */
const PLAIN_FLAG = /^-[\w-]*$/u

/** `if=/path`, `--file=/path` and `@/path` name a file too. */
function withoutOption(word: ShellWord): ShellWord {
  const text = word.text.replace(/^(?:-{0,2}[\w-]+=)?[@<]?(?:file:\/\/(?:localhost)?)?/iu, "")
  return text === word.text ? word : { ...word, text }
}

const says = (call: Invocation, pattern: RegExp): boolean => call.words.some(({ text }) => pattern.test(text))

/** The name of a file in another directory that this command makes a known secret. */
const copiesCredentials = (call: Invocation): string | undefined => {
  const sources = call.operands.slice(0, -1)
  for (const word of sources) {
    const found = pathForms(word, call.command.directory, call.facts).find(
      (path) => isCredentialPath(path, call.facts) || /\/\.(?:ssh|aws|gnupg|kube)$/u.test(path),
    )
    if (found !== undefined) return found
  }
  return undefined
}

export const CREDENTIAL_RULES: readonly CommandRule[] = [
  {
    key: "read credentials",
    programs: ["*", "xargs", "parallel"],
    when: (call) => credentialRead(call) !== undefined,
    does: "reads a file that holds keys, logins or other conversations",
    effects: (call) => [{ kind: "credentials", path: credentialRead(call) ?? "" }],
  },
  {
    key: "copy credentials",
    programs: ["tar", "zip", "cp", "mv", "rsync", "scp", "ln", "7z", "gtar", "bsdtar", "cpio", "rclone"],
    when: (call) =>
      copiesCredentials(call) !== undefined ||
      (["tar", "zip", "7z", "gtar", "bsdtar"].includes(call.program) &&
        !isUnpacking(call) &&
        archivedCredentials(call)),
    does: "copies, moves or links files that hold keys, logins or other conversations",
    effects: (call) => [{ kind: "credentials", path: copiesCredentials(call) ?? call.facts.userHome }],
  },
  {
    key: "read a keyring or token",
    programs:
      "security secret-tool gpg gpg2 pass gh gcloud aws az heroku op bw kwallet-query keyctl git-credential vault lpass rbw keyring doppler ssh-keygen kubectl docker-credential-desktop npm hermes".split(
        " ",
      ),
    when: readsKeyring,
    does: "prints a key, password or token",
    effects: (call) => [{ kind: "credentials", path: call.program }],
  },
  {
    key: "read the memory or environment of processes",
    programs: ["*", "xargs", "parallel", "find", "gfind"],
    when: readsProcesses,
    does: "reads the memory or environment of a process",
    effects: [{ kind: "credentials", path: "/proc" }],
  },
  {
    key: "replace a key",
    programs: ["ssh-keygen"],
    when: replacesKey,
    does: "makes a key and answers the question whether to replace one",
    effects: PERSON,
  },
  {
    key: "change the command history",
    programs: ["history", "fc"],
    when: (call) => says(call, /^-[a-z]*[cwanrpds]/u) && !says(call, /^-l/u),
    does: "changes the history of the shell",
    effects: PERSON,
  },
]

const PROCESS_FILE = /^\/proc\/(?:.*\/)?(?:environ|mem|maps)$|^\/proc\/(?!self\/|thread-self\/).+\/fd\/\d+$/su

function readsProcesses(call: Invocation): boolean {
  const { program, command } = call
  if (program === "gcore" || program === "procdump") return true
  if (program === "ps") return printsEnvironment(call)
  if (program === "find" || program === "gfind")
    return says(call, /^\/proc(?:\/|$)/u) && says(call, /^\*?env\w*\*?$/u) && says(call, /^-(?:exec|ok)/u)
  if (SHOWS_NO_CONTENT.has(program)) return false
  const inputs = [
    ...(command.input?.kind === "file" ? [command.input.path] : []),
    ...command.redirections.filter(({ operator }) => operator === "<").map(({ target }) => target),
  ]
  return [...call.words, ...inputs].some(
    ({ text }) => text.includes("/proc/") && PROCESS_FILE.test(text.replace(/^-{0,2}[\w-]+=/u, "").replace(/^@/u, "")),
  )
}

const SHOWS_NO_CONTENT: ReadonlySet<string> = new Set("ls stat test [ [[ echo printf file".split(" "))

/** `ps e`, `ps auxe`: the letter without a dash prints the environment; `-e` selects every process. */
function printsEnvironment({ words }: Invocation): boolean {
  return words.some(({ text }, index) => {
    if (/^-aux?\w*e|^-\w*E/u.test(text)) return true
    const isValue = /^-\w*[CGUgopqstu]$|^--\w+$|^[a-zA-Z]*[opOUtk]$/u.test(words[index - 1]?.text ?? "")
    return !isValue && /^[a-zA-Z]*e[a-zA-Z]*$/u.test(text) && !/[oO]./u.test(text.slice(text.indexOf("e")))
  })
}

/** `ssh-keygen -f KEY` with an answer: it asks before it replaces a key. */
function replacesKey(call: Invocation): boolean {
  const reads = hasFlag(call, /^-[a-zA-Z]*[lyFRHeiBDpcQYkrM]$/u)
  return !reads && call.command.input !== undefined
}

const isUnpacking = (call: Invocation): boolean =>
  call.program.endsWith("tar") && /^-?[a-zA-Z]*[xt]/u.test(call.words[0]?.text ?? "")

function archivedCredentials(call: Invocation): boolean {
  const [directory] = optionValues(call, "-C", "--directory")
  const base =
    (directory === undefined ? undefined : absolutePath(directory, call.command.directory)) ?? call.command.directory
  return call.operands.some((word) =>
    [...pathForms(word, call.command.directory, call.facts), ...pathForms(word, base, call.facts)].some(
      (path) =>
        path === call.facts.userHome ||
        // `tar cf - ~/{}`: any directory of the home.
        (!word.known && path === `${call.facts.userHome}/{}`) ||
        /\/\.(?:ssh|aws|gnupg|kube|config|mozilla)$/u.test(path) ||
        isCredentialPath(path, call.facts),
    ),
  )
}

const KEYRING_ACTIONS: Readonly<Record<string, RegExp>> = {
  security: /^(?:find-(?:generic|internet)-password|dump-keychain|export|find-key)$/u,
  "secret-tool": /^(?:lookup|search)$/u,
  gpg: /^--(?:export-secret|export-secret-keys|export-secret-subkeys|export-ssh-key|decrypt)\b|^-d$/u,
  gpg2: /^--(?:export-secret|export-secret-keys|export-secret-subkeys|decrypt)\b|^-d$/u,
  pass: /^(?:show|otp|grep|-c)$|^(?!ls$|list$|init$|git$|insert$|generate$|help$|version$)\w+\/\S+$/u,
  gh: /^token$/u,
  gcloud: /^(?:print-access-token|print-identity-token)$/u,
  aws: /^(?:get-secret-value|get-session-token|get-login-password|export-credentials|get-parameter)$/u,
  az: /^(?:get-access-token)$/u,
  heroku: /^auth:token$/u,
  op: /^(?:read|get|item|signin)$/u,
  bw: /^(?:get|list|export|unlock)$/u,
  "kwallet-query": /./u,
  keyctl: /^(?:read|print|pipe)$/u,
  vault: /^(?:read|get|token)$/u,
  lpass: /^(?:show|export)$/u,
  rbw: /^(?:get|list)$/u,
  keyring: /^get$/u,
  doppler: /^secrets$/u,
  "ssh-keygen": /^-[a-zA-Z]*[yp][a-zA-Z]*$/u,
  npm: /^token$/u,
}

function readsKeyring(call: Invocation): boolean {
  const actions = KEYRING_ACTIONS[call.program]
  if (actions === undefined)
    return call.program === "kubectl" && says(call, /^secrets?(?:\/|$)/u) && says(call, /^-o|^--output|^describe$/u)
  return says(call, actions)
}
