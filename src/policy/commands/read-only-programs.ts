import { readSedProgram, sedArguments } from "../shell/sed-program.ts"

/** How a program of the read-only set is recognized by its arguments. `any`: no argument makes it write or start something. */
export type ReadOnlyRule =
  | "any"
  | {
      readonly reads: (words: readonly string[]) => boolean
      /** True when a file name that starts with `-` would be taken for an option that writes. */
      readonly options: boolean
    }

const without = (pattern: RegExp): ReadOnlyRule => ({
  options: true,
  reads: (words) => !words.some((word) => pattern.test(word)),
})
const reads = (test: (words: readonly string[]) => boolean): ReadOnlyRule => ({ options: true, reads: test })
const operands = (words: readonly string[]): readonly string[] => words.filter((word) => !word.startsWith("-"))
const atMost = (count: number): ReadOnlyRule => reads((words) => operands(words).length <= count)
const onlyVersion = reads((words) => words.length === 1 && /^(?:--version|-V|-v|--help|version)$/u.test(words[0] ?? ""))

const PLAIN =
  "cat head tail wc grep egrep fgrep ls dir vdir stat du df pwd echo printf true false : test [ [[ basename dirname realpath readlink whoami id groups uname " +
  "uptime nproc arch cmp comm join paste fold fmt nl od hexdump strings tac rev cut tr column expand unexpand sha1sum sha256sum sha512sum md5sum cksum b2sum sum " +
  "which whereis type ps pgrep pidof free vmstat lscpu lsblk lsusb lspci seq sleep tty expr numfmt cd pushd popd dirs read break continue exit return jq diff " +
  "base64 base32 locale getconf tokei cloc exa eza lsd jobs wait let"

const VERSIONED =
  "node npm npx pnpm yarn bun deno python python2 python3 pip pip3 ruby gem perl php java javac go cargo rustc rustup gcc g++ clang cc make cmake tsc docker podman " +
  "kubectl helm terraform gh curl wget ssh bash zsh vim nvim code uv poetry pytest ruff black mypy eslint prettier hermes psql mysql sqlite3 redis-cli ffmpeg"

export const READ_ONLY_PROGRAMS: ReadonlyMap<string, ReadOnlyRule> = new Map<string, ReadOnlyRule>([
  ...VERSIONED.split(" ").map((name): [string, ReadOnlyRule] => [name, onlyVersion]),
  ...PLAIN.split(" ").map((name): [string, ReadOnlyRule] => [name, "any"]),
  ["command", reads((words) => words[0] === "-v" || words[0] === "-V")],
  ["file", without(/^-[a-zA-Z]*C|^--compile$/u)],
  ["sort", without(/^-[a-zA-Z]*[oT]|^--(?:o|c(?:o|$)|t)/u)],
  ["uniq", atMost(1)],
  ["xxd", atMost(1)],
  ["tree", without(/^-[a-zA-Z]*o|^--output/u)],
  ["find", without(/^-(?:exec|execdir|ok|okdir|delete|fprint|fprint0|fprintf|fls)$/u)],
  ["fd", without(/^-[a-zA-Z]*[xX]|^--exec/u)],
  ["fdfind", without(/^-[a-zA-Z]*[xX]|^--exec/u)],
  ["rg", without(/^--(?:pre|hostname-bin)/u)],
  ["ag", without(/^--pager/u)],
  ["date", without(/^-[a-zA-Z]*s|^--s/u)],
  ["hostname", reads((words) => words.every((word) => /^-[sfidIA]$/u.test(word)))],
  ["top", reads((words) => words.includes("-b"))],
  ["lsof", "any"],
  ["ss", without(/^-[a-zA-Z]*K|^--kill/u)],
  ["netstat", "any"],
  ["yq", without(/^-[a-zA-Z]*[is]|^--(?:inplace|in-place|split)/u)],
  ["sed", reads(sedReads)],
  ["awk", reads(awkReads)],
  ["gawk", reads(awkReads)],
  ["mawk", reads(awkReads)],
  [
    "tar",
    reads(
      (words) => /^-?[zjJv]*t[zjJv]*f?$/u.test(words[0] ?? "") && !words.slice(1).some((word) => word.startsWith("-")),
    ),
  ],
  ["unzip", reads((words) => words[0] === "-l")],
  ["git", reads(gitReads)],
  [
    "npm",
    reads(
      (words) =>
        /^(?:ls|list|ll|la|root|prefix|--version|-v)$/u.test(words[0] ?? "") &&
        !words.some((word) => /^--(?:script-shell|node-options|prefix)/u.test(word)),
    ),
  ],
  [
    "go",
    reads((words) => words[0] === "version" || (words[0] === "env" && !words.some((word) => /^-[wu]/u.test(word)))),
  ],
  ["journalctl", without(/^--(?:vacuum|rotate|flush|sync|setup-keys|update-catalog)/u)],
  [
    "systemctl",
    reads(
      (words) =>
        /^(?:status|is-active|is-enabled|is-failed|show|cat|list-\S+)$/u.test(operands(words)[0] ?? "") &&
        !words.some((word) => /^-[HM]|^--(?:host|machine)/u.test(word)),
    ),
  ],
  ["hermes", reads((words) => words.length === 1 && /^(?:--version|doctor|status)$/u.test(words[0] ?? ""))],
])

/** Programs to which xargs may append any names. */
export const READ_ONLY_XARGS: ReadonlySet<string> = new Set(
  "wc cat head tail ls stat grep egrep fgrep du sha256sum md5sum sha1sum basename dirname echo realpath readlink".split(
    " ",
  ),
)

/** Prints, deletes from the output or replaces; no command that writes files or starts programs. */
function sedReads(words: readonly string[]): boolean {
  if (words.some((word) => /^-[a-zA-Z]*[if]|^--(?:in-place|file)/u.test(word))) return false
  const { script } = sedArguments(words.map((text) => ({ text, known: true, pattern: false })))
  if (script === undefined) return false
  const { isValid, executes, reads: opened, writes } = readSedProgram(script)
  return isValid && executes.length + opened.length + writes.length === 0
}

function awkReads(words: readonly string[]): boolean {
  if (
    words.some(
      (word) =>
        /^-[a-zA-Z]*[fieEl](?:$|[^=])|^--(?:file|include|load|exec|source)/u.test(word) && !word.startsWith("-F"),
    )
  )
    return false
  return !words.some((word) => /\bsystem\b|\bgetline\b|\bclose\b|\||@|\bprintf?\b[^;}\n]*>|\/inet/u.test(word))
}

const GIT_NEVER =
  /^(?:-c|--config-env|--exec-path|--git-dir|--work-tree|--namespace|-p|--paginate|--ext-diff|--textconv|--output|--open-files-in-pager|--exec|--upload-pack|--receive-pack|--edit|--set-upstream|-O)(?:=|$)|^-[cO].|^--output-directory|^--ou/u
const list = (pattern: RegExp) => (words: readonly string[]) => words.every((word) => pattern.test(word))
const always = (): boolean => true

const GIT_ACTIONS: ReadonlyMap<string, (words: readonly string[]) => boolean> = new Map<
  string,
  (words: readonly string[]) => boolean
>([
  ..."log status diff show blame annotate rev-parse ls-files ls-tree cat-file describe shortlog rev-list merge-base name-rev for-each-ref show-ref show-branch count-objects whatchanged grep diff-tree diff-index diff-files check-ignore check-attr version cherry range-diff var"
    .split(" ")
    .map((name): [string, (words: readonly string[]) => boolean] => [name, always]),
  [
    "branch",
    (words) =>
      words.every((word) => word.startsWith("-"))
        ? list(
            /^(?:-a|-r|-v|-vv|-av|-avv|-rv|-l|--list|--all|--remotes|--verbose|--show-current|--merged|--no-merged|--contains|--no-color|--color.*|--sort=.*|--format=.*|--column.*)$/u,
          )(words)
        : /^(?:--list|-l|--contains|--merged|--no-merged|--points-at)$/u.test(words[0] ?? "") &&
          !words.some((word) =>
            /^-[a-zA-Z]*[dDmMcCuft]|^--(?:delete|move|copy|force|set|unset|track|create)/u.test(word),
          ),
  ],
  [
    "tag",
    (words) =>
      words.length === 0 ||
      (/^(?:-l|--list|-n\d*|--contains|--merged|--points-at|--sort=.*)$/u.test(words[0] ?? "") &&
        !words.some((word) => /^-[a-zA-Z]*[dasfmFu]|^--(?:delete|annotate|sign|force|message|file)/u.test(word))),
  ],
  ["remote", (words) => words.length === 0 || list(/^(?:-v|--verbose)$/u)(words) || words[0] === "get-url"],
  ["stash", (words) => words[0] === "list" || words[0] === "show"],
  ["reflog", (words) => words.length === 0 || words[0] === "show" || words[0]?.startsWith("-") === true],
  ["worktree", (words) => words[0] === "list"],
  ["submodule", (words) => words[0] === "status" || words.length === 0],
  [
    "config",
    (words) =>
      /^(?:--get|--get-all|--get-regexp|--list|-l|get|list)$/u.test(
        words.find((word) => !/^--(?:global|local|system|show-origin|show-scope)$/u.test(word)) ?? "",
      ),
  ],
  ["symbolic-ref", (words) => operands(words).length === 1 && !words.includes("-d") && !words.includes("--delete")],
])

function gitReads(words: readonly string[]): boolean {
  let index = 0
  while (words[index]?.startsWith("-") === true) {
    if (words[index] === "-C") index += 2
    else if (/^(?:--no-pager|--no-optional-locks|--literal-pathspecs|--version)$/u.test(words[index] ?? "")) index += 1
    else return false
  }
  const action = words[index]
  if (action === undefined) return words.includes("--version")
  const rest = words.slice(index + 1)
  // `git log -p` shows patches; before the action, -p starts a pager.
  return (
    GIT_ACTIONS.get(action)?.(rest) === true &&
    !rest.some(
      (word) =>
        word !== "-p" &&
        !(/^-c$/u.test(word) && /^(?:ls-files|diff-tree|diff|show|log)$/u.test(action)) &&
        GIT_NEVER.test(word),
    )
  )
}
