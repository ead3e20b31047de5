import { CODE, PERSON } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import type { Effect } from "../command-verdict.ts"
import { absolutePath, pathForms } from "../command-paths.ts"
import { hasFlag, optionValues, subcommands, upstream } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { isWithin } from "../../file-floor.ts"
import type { ShellWord, SimpleCommand } from "../../shell/understood-command.ts"

const GIT = ["git", "git.exe"]
const action = (call: Invocation): string => subcommands(call)[0] ?? ""
const is =
  (name: string, flag?: RegExp) =>
  (call: Invocation): boolean =>
    action(call) === name && (flag === undefined || hasFlag(call, flag))
/** Changes that no commit holds are lost in the working tree. */
const workingTree = (call: Invocation): readonly Effect[] => [{ kind: "delete", path: call.command.directory }]
/** Every file of the working tree, in any notation: `.`, `:/`, `**`, `$PWD`, a path to it or above it, and everything except some. */
const isEverything = (word: ShellWord, call: Invocation): boolean =>
  EVERYTHING.test(word.text) || isAllBut(word, call) || namesTree(word, call)
/** Patterns that only exclude start from everything. */
const isAllBut = ({ text }: ShellWord, { operands }: Invocation): boolean =>
  EXCLUDED.test(text) && operands.slice(1).every((other) => EXCLUDED.test(other.text))
const EXCLUDED = /^:(?:[!^]|\(exclude)/u
const namesTree = (word: ShellWord, { command, facts }: Invocation): boolean =>
  pathForms(word, command.directory, facts).some(
    (path) => path === command.directory || isWithin(facts.workspaceRoot, path),
  )
const EVERYTHING =
  /^(?:\.\/?)?\*{1,2}(?:\/\*{1,2})?$|^(?:\.|\.\/)+$|^:(?:\/|\([\w,]*\))?(?:\.?\/?\*{0,2})$|^\$(?:PWD|\{PWD\})\/?\*{0,2}$|^\$\((?:pwd|git rev-parse --show-toplevel)\)\/?$/u

/** Settings whose value git executes, or that name files whose content it executes. */
const EXECUTING_SETTING =
  /^(?:core\.(?:pager|editor|sshcommand|fsmonitor|hookspath|askpass|gitproxy|attributesfile|worktree|alternaterefscommand)|alias\..+|pager\..+|sequence\.editor|credential(?:\..+)?\.helper|credential\.helper|filter\..+|diff\..*(?:command|textconv|external)|diff\.external|difftool\..+|mergetool\..+|merge\..+\.driver|gpg(?:\..+)?\.program|include(?:if)?\..*path|url\..+\.(?:push)?insteadof|remote\..+\.(?:uploadpack|receivepack|vcs|proxy|pushurl)|protocol\..*allow|http\..*proxy|http\.sslverify|uploadpack\..+|receive\..+|web\.browser|browser\..+|man\..+|init\.templatedir|submodule\..+\.update|sendemail\..+|instaweb\..+|interactive\.difffilter|tar\..+\.command|trailer\..+\.(?:command|cmd)|safe\.directory|transfer\.fsckobjects)$/iu

const isExecutingSetting = (name: string, value: string | undefined): boolean => {
  if (!EXECUTING_SETTING.test(name)) return false
  if (value === undefined) return true
  if (/^alias\./iu.test(name)) return /^\s*[!-]/u.test(value) || /[$`]/u.test(value)
  if (/^(?:core\.pager|pager\..+)$/iu.test(name))
    return !/^(?:cat|less|more|delta|true|false|bat)?(?:\s+-[-\w=]+)*$/u.test(value)
  if (/^(?:core|sequence)\.editor$/iu.test(name))
    return !/^(?:true|:|vim?|nvim|nano|emacs|code|code --wait|subl -w|hx|micro|cat)$/u.test(value)
  if (/^credential/iu.test(name))
    return !/^(?:store|cache(?: --timeout[= ]\d+)?|osxkeychain|manager(?:-core)?|libsecret|)$/u.test(value)
  if (/^(?:diff|merge)tool\..+\.(?:prompt|keepbackup|trustexitcode)$/iu.test(name)) return false
  return !/^(?:diff|merge)\.tool$/iu.test(name)
}

/** The settings of `git -c name=value` and `--config-env`. */
const givenSettings = (call: Invocation): readonly (readonly [string, string])[] =>
  optionValues(call, "-c", "--config").flatMap(({ text }) => {
    const at = text.indexOf("=")
    return at === -1 ? [] : [[text.slice(0, at), text.slice(at + 1)] as const]
  })

/** The setting that `git config` stores. */
const storedSettings = (call: Invocation): readonly (readonly [string, string])[] => {
  if (action(call) !== "config") return []
  const [name = "", value = "true"] = call.operands.slice(1).flatMap(({ text }) => (text === "set" ? [] : text))
  return [[name, value]]
}

const LOSING_SETTINGS = [
  { name: /^clean\.requireforce$/iu, value: /^(?:false|no|off|0|)$/iu },
  { name: /^remote\..+\.mirror$/iu, value: /^(?:true|yes|on|1|)$/iu },
  { name: /^remote\..+\.push$/iu, value: /^[+:]/u },
]

/** The difference is what is not committed: it comes from `git diff`, or from a file that `git diff` of this line or session wrote. */
const isOwnDifference = (call: Invocation): boolean => {
  const { command, understood } = call
  const shows = ({ program, argv }: SimpleCommand): boolean =>
    program === "git" && argv.some(({ text }) => /^(?:diff|stash|format-patch|show)$/u.test(text))
  if (upstream(command, understood).some(shows) || (command.input?.kind === "text" && !command.input.word.known))
    return true
  const files = [...call.operands, ...(command.input?.kind === "file" ? [command.input.path] : [])]
  return files.some((word) => {
    const path = absolutePath(word, command.directory)
    return path !== undefined && understood.after.files?.has(path) === true
  })
}

const changesSetting = (call: Invocation): boolean => {
  if (action(call) !== "config" || hasFlag(call, /^--(?:get\S*|list|show-\S+)$|^-l$/u)) return false
  if (hasFlag(call, /^-e$|^--edit$/u)) return true
  const files = optionValues(call, "-f", "--file", "--blob", "--type").map(({ text }) => text)
  const [name, value] = subcommands(call)
    .slice(1)
    .filter((word) => !["set", "unset", "add"].includes(word) && !files.includes(word))
  return (
    name !== undefined &&
    (value !== undefined || hasFlag(call, /^--(?:add|replace-all)$/u)) &&
    isExecutingSetting(name, value)
  )
}

/** `git clean -fdn`, but not `-e n`, `-en` or `-e -n`, in which it is a pattern. */
const isDryClean = (call: Invocation): boolean => {
  const patterns = new Set(optionValues(call, "-e", "--exclude").map(({ text }) => text))
  return (
    call.flags.some((flag) => /^-[dfiqxX]*n|^--dry-run$/u.test(flag) && !patterns.has(flag)) &&
    !hasFlag(call, /^--no-/u)
  )
}

export const VERSION_CONTROL_RULES: readonly CommandRule[] = [
  {
    key: "git reset --hard (destroys uncommitted changes)",
    programs: GIT,
    when: is("reset", /^--hard$/u),
    does: "discards changes that are not committed",
    effects: workingTree,
  },
  {
    key: "git force push (rewrites remote history)",
    programs: GIT,
    when: is("push", /^--force/u),
    does: "rewrites the history of a remote repository",
    effects: PERSON,
  },
  {
    key: "git force push short flag (rewrites remote history)",
    programs: GIT,
    when: is("push", /^-[a-zA-Z]*f/u),
    does: "rewrites the history of a remote repository",
    effects: PERSON,
  },
  {
    key: "git push that deletes or replaces remote branches",
    programs: GIT,
    when: (call) =>
      action(call) === "push" &&
      (hasFlag(call, /^--(?:mirror|delete|prune|all)$|^-[a-z]*d/u) ||
        subcommands(call)
          .slice(1)
          .some((word) => /^[+:]./u.test(word))),
    does: "deletes or replaces branches of a remote repository",
    effects: PERSON,
  },
  {
    key: "git clean with force (deletes untracked files)",
    programs: GIT,
    when: (call) => is("clean", /^-[a-zA-Z]*f|^--force$/u)(call) && !isDryClean(call),
    does: "deletes files that git does not track",
    effects: workingTree,
  },
  {
    key: "git branch force delete",
    programs: GIT,
    when: (call) =>
      is("branch", /^-[a-zA-Z]*D/u)(call) ||
      (is("branch", /^--delete$|^-[a-z]*d/u)(call) && hasFlag(call, /^--force$|^-[a-z]*f/u)),
    does: "deletes a branch that is not merged",
    effects: PERSON,
  },
  {
    key: "git checkout/restore discarding changes",
    programs: GIT,
    when: (call) =>
      ["checkout", "restore"].includes(action(call)) &&
      (call.operands.some((word) => isEverything(word, call)) || hasFlag(call, /^--pathspec-from-file/u)) &&
      !(action(call) === "restore" && hasFlag(call, /^--staged$|^-S$/u) && !hasFlag(call, /^--worktree$|^-W$/u)),
    does: "discards changes that are not committed",
    effects: workingTree,
  },
  {
    key: "git switch or checkout discarding changes",
    programs: GIT,
    when: (call) =>
      (["checkout", "switch"].includes(action(call)) && hasFlag(call, /^--(?:force|discard-changes)$|^-[qm]*f/u)) ||
      (action(call) === "checkout-index" && hasFlag(call, /^--force$|^-[a-z]*f/u)) ||
      (action(call) === "read-tree" && hasFlag(call, /^--reset$/u)),
    does: "discards changes that are not committed",
    effects: workingTree,
  },
  {
    key: "git apply or patch in reverse (discards changes)",
    programs: [...GIT, "patch"],
    when: (call) =>
      (call.program === "patch" || action(call) === "apply") &&
      hasFlag(call, /^-[a-zA-Z]*R|^--reverse$/u) &&
      !hasFlag(call, /^--(?:check|stat|numstat|summary|cached|dry-run)$/u) &&
      isOwnDifference(call),
    does: "takes back changes that are not committed",
    effects: workingTree,
  },
  {
    key: "git setting that loses changes",
    programs: GIT,
    when: (call) =>
      [...givenSettings(call), ...storedSettings(call)].some(([name, value]) =>
        LOSING_SETTINGS.some((setting) => setting.name.test(name) && setting.value.test(value)),
      ),
    does: "lets git delete files or remote branches without asking",
    effects: PERSON,
  },
  {
    key: "git rewrites or drops history",
    programs: GIT,
    when: (call) => {
      const words = subcommands(call)
      return (
        ["filter-branch", "filter-repo"].includes(action(call)) ||
        (action(call) === "reflog" && ["expire", "delete"].includes(words[1] ?? "")) ||
        (action(call) === "gc" &&
          hasFlag(call, /^--prune=(?:now|all)|^--aggressive$/u) &&
          hasFlag(call, /^--prune/u)) ||
        (action(call) === "prune" && !hasFlag(call, /^-n$|^--dry-run$/u)) ||
        (action(call) === "update-ref" && hasFlag(call, /^-d$|^--stdin$/u)) ||
        (action(call) === "stash" && ["clear", "drop"].includes(words[1] ?? "")) ||
        (action(call) === "replace" && words.length > 1) ||
        (action(call) === "submodule" && words[1] === "deinit" && hasFlag(call, /^-f$|^--force$/u)) ||
        (action(call) === "worktree" && words[1] === "remove" && hasFlag(call, /^-f$|^--force$/u))
      )
    },
    does: "drops commits or changes that cannot be restored",
    effects: PERSON,
  },
  {
    key: "git rm of the whole working tree",
    programs: GIT,
    when: (call) =>
      is("rm", /^-[a-z]*r/u)(call) &&
      hasFlag(call, /^-[a-z]*f|^--force/u) &&
      !hasFlag(call, /^--cached$|^-[a-z]*n|^--dry-run$/u) &&
      call.operands.some((word) => isEverything(word, call)),
    does: "deletes every file that git tracks, with changes that are not committed",
    effects: workingTree,
  },
  {
    key: "git setting that runs a program",
    programs: GIT,
    when: (call) =>
      changesSetting(call) ||
      givenSettings(call).some(([name, value]) => isExecutingSetting(name, value)) ||
      optionValues(call, "--config-env", "--exec-path").length > 0,
    does: "changes which programs git runs",
    // A stored setting also acts where the user runs git, outside of any sandbox.
    effects: (call) => (changesSetting(call) ? PERSON : CODE),
  },
  {
    key: "git option that runs a program",
    programs: GIT,
    when: (call) =>
      hasFlag(
        call,
        /^--(?:upload-pack|receive-pack|exec|extcmd|open-files-in-pager|template)(?:=|$)|^--(?:msg|tree|index|env|commit|tag-name|parent)-filter/u,
      ) ||
      subcommands(call).some((word) => /^ext::|^fd::/u.test(word)) ||
      (action(call) === "clone" && hasFlag(call, /^-u/u)) ||
      (action(call) === "rebase" && hasFlag(call, /^-[a-z]*x|^--exec/u)) ||
      (action(call) === "submodule" && subcommands(call)[1] === "foreach") ||
      (action(call) === "grep" && hasFlag(call, /^-O/u)) ||
      (action(call) === "instaweb" && hasFlag(call, /^--(?:httpd|browser|modulepath)|^-[dbm]/u)) ||
      (action(call) === "difftool" && hasFlag(call, /^-x|^--extcmd/u)) ||
      (action(call) === "send-email" && hasFlag(call, /^--(?:sendmail-cmd|to-cmd|cc-cmd|smtp-server)/u)),
    does: "lets git run another program",
    effects: CODE,
  },
  {
    key: "delete or change a repository on a server",
    programs: ["gh", "glab", "hub", "tea"],
    when: (call) => {
      const words = subcommands(call)
      return (
        words
          .slice(0, 3)
          .some((word) => ["delete", "archive", "rename", "transfer", "delete-asset", "remove"].includes(word)) ||
        (["secret", "variable", "ssh-key", "gpg-key", "deploy-key", "auth"].includes(words[0] ?? "") &&
          /^(?:set|add|login|logout|refresh|setup-git|remove)$/u.test(words[1] ?? "")) ||
        (words[0] === "repo" && words[1] === "edit") ||
        (words[0] === "api" &&
          optionValues(call, "-X", "--method").some(({ text }) => /^(?:delete|put|patch|post)$/iu.test(text))) ||
        (words[0] === "pr" && words[1] === "merge" && hasFlag(call, /^--admin$/u))
      )
    },
    does: "changes or deletes something on a server",
    effects: PERSON,
  },
  {
    key: "discard changes in another version control system",
    programs: ["hg", "svn", "jj", "fossil", "bzr", "p4"],
    when: (call) =>
      /^(?:revert|strip|purge|abandon|obliterate|histedit|rollback)$/u.test(action(call)) ||
      (action(call) === "update" && hasFlag(call, /^-C$|^--clean$/u)),
    does: "discards changes that are not committed",
    effects: workingTree,
  },
]
