import type { CommandRule } from "../command-rule.ts"
import { PERSON } from "../command-rule.ts"
import { hasFlag, optionValues, subcommands } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { isCodeVariable } from "../code-variables.ts"
import { movesAccountSettings } from "../account-settings.ts"
import { isInForeignRepository, repositoryDirectory } from "../push-repository.ts"
import { isWithin } from "../../file-floor.ts"
import { ADDRESS_SETTING, ANY_REMOTE, isRepositoryAddress, remoteChangedBy } from "../../shell/git-remotes.ts"
import type { ShellWord } from "../../shell/understood-command.ts"

const NO_REMOTES: ReadonlySet<string> = new Set()
const remotesOf = (call: Invocation): ReadonlySet<string> => call.understood.after.remotes ?? NO_REMOTES

/** The words that follow each of these name the repository that receives the commits. */
const PUSHES: Readonly<Record<string, readonly string[]>> = {
  git: ["push", "send-pack", "http-push", "lfs push", "subtree push", "annex sync", "annex copy", "svn dcommit"],
  hub: ["push"],
  jj: ["git push"],
  hg: ["push"],
  bzr: ["push"],
  brz: ["push"],
  fossil: ["push", "sync"],
  darcs: ["push", "send"],
  got: ["send"],
}
const VALUED = [
  "-o",
  "--push-option",
  "--receive-pack",
  "--exec",
  "--repo",
  "-P",
  "--prefix",
  "--remote",
  "-R",
  "-r",
  "-b",
  "-B",
]

/** The repository that a push names; undefined when it names none, null when the command pushes nothing. */
function pushTarget(call: Invocation): ShellWord | undefined | null {
  const words = subcommands(call)
  const action = PUSHES[call.program]?.find((name) => name.split(" ").every((part, index) => words[index] === part))
  if (action === undefined || hasFlag(call, /^--dry-run$|^-n$/u)) return null
  const [named] = optionValues(call, "--repo", "--remote")
  if (named !== undefined) return named
  const values = new Set<ShellWord>()
  call.words.forEach(({ text }, index) => {
    const next = call.words[index + 1]
    if (VALUED.includes(text) && next !== undefined) values.add(next)
  })
  const last = action.split(" ").at(-1)
  const at = call.words.findIndex((word) => word.text === last && !values.has(word))
  return call.words.slice(at + 1).find((word) => !word.text.startsWith("-") && !values.has(word))
}

/** A push to a repository that the user did not set up before the session: an address, or a remote that a command added or changed. */
function pushesElsewhere(call: Invocation): boolean {
  const target = pushTarget(call)
  if (target === null) return false
  const remotes = remotesOf(call)
  if (remotes.has(ANY_REMOTE) || usesOtherRepository(call) || isInClone(call, remotes) || writesRemotes(call))
    return true
  if (movesAccountSettings(call) || isInForeignRepository(call)) return true
  if (givenSettings(call).some(([name, value]) => remoteChangedBy(name, value, remotes) !== undefined)) return true
  // Any new remote may have become the one that is used without a name.
  if (target === undefined) return [...remotes].some((name) => !name.startsWith("/"))
  return !target.known || isRepositoryAddress(target.text) || remotes.has(target.text)
}

/** The settings of `git -c name=value` and `--config-env=name=VARIABLE`. */
function givenSettings(call: Invocation): readonly (readonly [name: string, value: string | undefined])[] {
  const split = (text: string): readonly [string, string] => {
    const at = text.indexOf("=")
    return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)]
  }
  return [
    ...optionValues(call, "-c", "--config").map(({ text }) => split(text)),
    ...optionValues(call, "--config-env").map(({ text }) => [split(text)[0], undefined] as const),
  ]
}

/** Variables and options with which git takes its remotes from elsewhere. The directory `.git` is protected. */
function usesOtherRepository(call: Invocation): boolean {
  const isOther = (name: string, value: string | undefined): boolean =>
    /^GIT_(?:DIR|COMMON_DIR)$/u.test(name)
      ? value === undefined || !isGitDirectory(value)
      : name.startsWith("GIT_") && isCodeVariable(name, value)
  const { variables } = call.understood.after
  return (
    optionValues(call, "--git-dir").some(({ text, known }) => !known || !isGitDirectory(text)) ||
    call.command.assignments.some(({ name, value }) => isOther(name, value.known ? value.text : undefined)) ||
    [...variables].some(([name, value]) => isOther(name, value))
  )
}

/** Files with the addresses of remotes that commands wrote: those of a repository, also of one that has another name than `.git`. */
function writesRemotes({ understood: { after } }: Invocation): boolean {
  return [...(after.files ?? [])].some(
    ([path, text]) =>
      /\/\.git\/(?:.*\/)?(?:config[^/]*|remotes\/.+|branches\/.+)$/u.test(path) ||
      (/\/\.?(?:git)?config(?:\.worktree)?$/u.test(path) &&
        (text === undefined || /\[\s*(?:remote|url|include)/iu.test(text))),
  )
}

function isGitDirectory(path: string): boolean {
  return /(?:^|\/)\.git\/?$/u.test(path) && !/^\/(?:tmp|var\/tmp|dev\/shm)\//u.test(path)
}

function isInClone(call: Invocation, remotes: ReadonlySet<string>): boolean {
  const directory = repositoryDirectory(call)
  const clones = [...remotes].filter((path) => path.startsWith("/"))
  return clones.some((path) => directory === undefined || isWithin(directory, path))
}

export const PUSH_RULES: readonly CommandRule[] = [
  {
    key: "git push to a URL",
    programs: Object.keys(PUSHES),
    when: pushesElsewhere,
    does: "pushes to a repository that was no remote before this session",
    effects: PERSON,
  },
  {
    key: "git push to a URL",
    programs: ["svn"],
    when: (call) => subcommands(call)[0] === "import",
    does: "sends files to a repository on a server",
    effects: PERSON,
  },
  {
    key: "send a message to other people",
    programs: ["git"],
    when: (call) =>
      /^(?:send-email|imap-send)$/u.test(subcommands(call)[0] ?? "") && !hasFlag(call, /^--(?:dry-run|dump-aliases)$/u),
    does: "sends commits by e-mail",
    effects: PERSON,
  },
  {
    key: "change where git pushes to",
    programs: ["git", "jj"],
    when: (call) => {
      const words = subcommands(call)
      const [action, name, value] = words[0] === "git" ? words.slice(1) : words
      if (action === "remote") return name === "set-url"
      const setting = words.slice(1).find((word) => word.includes("."))
      return action === "config" && value !== undefined && setting !== undefined && ADDRESS_SETTING.test(setting)
    },
    does: "changes the address of a remote repository",
    effects: PERSON,
  },
  {
    key: "publish to a public service",
    programs: ["gh", "glab", "hub", "tea"],
    when: (call) => {
      const [subject, action] = subcommands(call)
      return /^repos?$/u.test(subject ?? "") && action === "create" && hasFlag(call, /^--(?:push|source)(?:=|$)|^-s/u)
    },
    does: "creates a repository on a server and sends files to it",
    effects: PERSON,
  },
]
