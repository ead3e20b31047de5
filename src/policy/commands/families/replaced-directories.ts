import { isWithin } from "../../file-floor.ts"
import type { ShellWord } from "../../shell/understood-command.ts"
import { pathForms } from "../command-paths.ts"
import type { CommandRule } from "../command-rule.ts"
import type { Effect } from "../command-verdict.ts"
import { hasFlag, optionValues } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { isOutsideProject } from "../path-classes.ts"
import { protectedDirectory } from "../protected-targets.ts"
import { moduleCall } from "../python-module.ts"

type Words = (call: Invocation) => readonly ShellWord[]

const operands: Words = ({ operands: words }) => words
const after =
  (...names: readonly string[]): Words =>
  ({ operands: [first, ...rest] }) =>
    names.includes(first?.text ?? "") ? rest : []
const withFlag =
  (flag: RegExp, words: Words): Words =>
  (call) =>
    hasFlag(call, flag) ? words(call) : []
const option =
  (...names: readonly string[]): Words =>
  (call) =>
    optionValues(call, ...names)
const variable =
  (...names: readonly string[]): Words =>
  ({ command: { assignments }, understood }) => [
    ...assignments.filter(({ name }) => names.includes(name)).map(({ value }) => value),
    ...names.flatMap((name) => {
      const text = understood.after.variables.get(name)
      return text === undefined ? [] : { text, known: true, pattern: false }
    }),
  ]
const both =
  (...all: readonly Words[]): Words =>
  (call) =>
    all.flatMap((words) => words(call))
const last: Words = ({ operands: words }) => words.slice(-1)

/** `cmake -E rename`, `-E rm`. */
const cmakeTool: Words = (call) => {
  const [action, ...paths] = call.operands
  if (!hasFlag(call, /^-E$/u)) return []
  if (/^(?:remove_directory|remove|rm)$/u.test(action?.text ?? "")) return paths
  return action?.text === "rename" ? paths.slice(0, 1) : []
}

/** `python3 -m venv --clear DIRECTORY`. */
const pythonModule: Words = (call) => {
  const module = moduleCall(call)
  return module !== undefined && MODULES.has(module.program) ? (REPLACED.get(module.program)?.(module) ?? []) : []
}

const MODULES: ReadonlySet<string> = new Set(["venv", "virtualenv", "pytest", "mkdocs"])

const cacheOption: Words = (call) =>
  hasFlag(call, /^--cache-clear$/u)
    ? optionValues(call, "-o", "--override-ini").flatMap((word) =>
        word.text.startsWith("cache_dir=") ? { ...word, text: word.text.slice("cache_dir=".length) } : [],
      )
    : []

/** The source or the target of a synchronization that deletes what the other side does not have. */
const synchronized: Words = (call) =>
  /^(?:sync|move|moveto|bisync)$/u.test(call.operands[0]?.text ?? "") ? call.operands.slice(1) : []

const recursive = /^-[a-zA-Z]*r|^--recursive$/u
const compressor = withFlag(recursive, operands)
const duplicates = withFlag(/^-[a-zA-Z]*[dN]|^--delete/u, operands)
const cleared: Words = withFlag(/^--clear$/u, operands)

/** Directories whose files a program deletes, moves away or replaces before it writes its own. */
const REPLACED: ReadonlyMap<string, Words> = new Map<string, Words>([
  ["venv", cleared],
  ["virtualenv", cleared],
  ["uv", withFlag(/^--clear$/u, after("venv"))],
  ["python", pythonModule],
  ["python2", pythonModule],
  ["python3", pythonModule],
  ["cmake", cmakeTool],
  ["cargo", (call) => (call.operands.some(({ text }) => text === "clean") ? cargoTarget(call) : [])],
  ["go", (call) => (call.operands[0]?.text === "clean" ? goCaches(call) : [])],
  ..."gzip gunzip pigz xz bzip2 lzma lz4 compress brotli".split(" ").map((name): [string, Words] => [name, compressor]),
  ["zstd", withFlag(/^--rm$/u, compressor)],
  ["fdupes", duplicates],
  ["jdupes", duplicates],
  [
    "rdfind",
    (call) => (call.words.some(({ text }) => /^-(?:delete|makesym|makehard)/u.test(text)) ? call.operands : []),
  ],
  ["pytest", both(option("--basetemp"), cacheOption)],
  ["vite", withFlag(/^--emptyOutDir/u, option("--outDir"))],
  ["mkdocs", option("-d", "--site-dir")],
  ["jekyll", option("-d", "--destination")],
  ["hugo", withFlag(/^--cleanDestinationDir/u, option("-d", "--destination"))],
  ["docusaurus", option("--out-dir")],
  ["ng", option("--output-path")],
  ["eleventy", option("--output")],
  ["gatsby", withFlag(/^--prefix-paths$/u, last)],
  ["conda", condaRemoved],
  ["mamba", condaRemoved],
  ["micromamba", condaRemoved],
  ["7z", withFlag(/^-sdel$/u, operands)],
  ["7za", withFlag(/^-sdel$/u, operands)],
  ["zip", withFlag(/^-[a-z]*m|^--move$/u, operands)],
  ["tar", withFlag(/^--remove-files$/u, operands)],
  ["gtar", withFlag(/^--remove-files$/u, operands)],
  ["rclone", synchronized],
  ["unison", withFlag(/^-(?:force|batch)$/u, operands)],
  ["restic", withFlag(/^--delete$/u, option("-t", "--target"))],
  ["shred", operands],
  ["gio", after("trash", "remove")],
  ["kioclient", after("move", "remove")],
])

function cargoTarget(call: Invocation): readonly ShellWord[] {
  return [...optionValues(call, "--target-dir"), ...variable("CARGO_TARGET_DIR")(call)]
}

function goCaches(call: Invocation): readonly ShellWord[] {
  return [
    ...withFlag(/^-modcache$/u, variable("GOMODCACHE", "GOPATH"))(call),
    ...withFlag(/^-(?:fuzz|test)?cache$/u, variable("GOCACHE"))(call),
  ]
}

function condaRemoved(call: Invocation): readonly ShellWord[] {
  const isRemoval = call.operands.some(({ text }) => text === "remove" || text === "uninstall")
  return isRemoval ? optionValues(call, "-p", "--prefix") : []
}

const replaced = (call: Invocation): readonly ShellWord[] =>
  call.isWrapper ? [] : (REPLACED.get(call.program)?.(call) ?? [])

/** Without the sandbox no checkpoint covers what is outside the project, and none is left where the project itself is moved away. */
function isLost(word: ShellWord, call: Invocation): boolean {
  return pathForms(word, call.command.directory, call.facts).some(
    (path) => isOutsideProject(path, call.facts) || path === call.facts.workspaceRoot,
  )
}

const deletedPaths = (call: Invocation): readonly Effect[] =>
  replaced(call).flatMap((word) =>
    pathForms(word, call.command.directory, call.facts).map((path) => ({ kind: "delete", path }) as const),
  )

/** `mv .git /tmp`, `mv "$PWD" ../old`: the repository or the project itself. */
function movesProject(call: Invocation): boolean {
  const sources = optionValues(call, "-t", "--target-directory").length > 0 ? call.operands : call.operands.slice(0, -1)
  return sources.some(
    (word) =>
      /^\$\{?(?:PWD|OLDPWD)\}?\/?$/u.test(word.text) ||
      pathForms(word, call.command.directory, call.facts).some(
        (path) =>
          isWithin(call.facts.workspaceRoot, path) ||
          (isWithin(path, call.facts.workspaceRoot) && path.endsWith("/.git")),
      ),
  )
}

/** `mv ~/Documents /tmp/x`: what is there is deleted some day. */
function movesToTemporary(call: Invocation): boolean {
  const directories = optionValues(call, "-t", "--target-directory")
  const [target] = directories.length > 0 ? directories : call.operands.slice(-1)
  const sources = call.operands.filter((word) => word !== target)
  const leads = (word: ShellWord | undefined, isThere: (path: string) => boolean): boolean =>
    word !== undefined && pathForms(word, call.command.directory, call.facts).some(isThere)
  return (
    leads(target, (path) => !isWithin(path, call.facts.workspaceRoot) && !isOutsideProject(path, call.facts)) &&
    sources.some((word) => leads(word, (path) => isOutsideProject(path, call.facts)))
  )
}

/** Programs that empty, replace or move away whole directories as a part of what they do. */
export const REPLACED_DIRECTORY_RULES: readonly CommandRule[] = [
  {
    key: "delete of a system or home directory by another program",
    level: "hardline",
    programs: [...REPLACED.keys()],
    when: (call) => replaced(call).some((word) => protectedDirectory(call, word) !== undefined),
    does: "deletes or replaces a directory of the system or the home directory",
    effects: deletedPaths,
  },
  {
    key: "delete outside the project",
    programs: [...REPLACED.keys()],
    when: (call) => replaced(call).some((word) => isLost(word, call)),
    does: "deletes or replaces files outside the project",
    effects: deletedPaths,
  },
  {
    key: "move the project or its repository",
    programs: ["mv", "gmv"],
    when: movesProject,
    does: "moves away the project or its history",
    effects: (call) => [{ kind: "delete", path: call.facts.workspaceRoot }],
  },
  {
    key: "delete outside the project",
    programs: ["mv", "gmv"],
    when: movesToTemporary,
    does: "moves files outside the project to a temporary directory",
    effects: (call) => [{ kind: "delete", path: call.facts.userHome }],
  },
]
