import { pathForms } from "../command-paths.ts"
import type { CommandRule } from "../command-rule.ts"
import type { Effect } from "../command-verdict.ts"
import { hasFlag, optionValues, programName, upstream } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { deletesOnlyCreated } from "../created-directories.ts"
import { createdPath } from "../printed-names.ts"
import { protectedDirectory } from "../protected-targets.ts"
import type { ProtectedDirectory } from "../protected-targets.ts"
import { componentGlob } from "../shell-glob.ts"
import type { ShellWord } from "../../shell/understood-command.ts"
import { isWithin } from "../../file-floor.ts"

const isRecursive = (call: Invocation): boolean => hasFlag(call, /^--recursive$|^--r(?:e(?:c\w*)?)?$|^-[a-z]*r/iu)

/** `rm dir/*` empties a directory even without a recursive flag. */
const deletes = (directory: ProtectedDirectory, call: Invocation): boolean =>
  deletesWithFind(directory, call) ||
  deletesListed(directory, call) ||
  call.operands.some(
    (word) => (isRecursive(call) || /\*\/?$/u.test(word.text)) && protectedDirectory(call, word) === directory,
  )

/** `find / -exec rm -rf {} +` without a test that chooses among the files. */
const deletesWithFind = (directory: ProtectedDirectory, call: Invocation): boolean => {
  const find = call.command.wrappers.find(({ program }) => program === "find" || program === "gfind")
  if (find === undefined || !isRecursive(call) || !call.operands.some(({ text }) => text === "{}")) return false
  const words = find.argv.slice(1)
  if (words.some(({ text }) => FIND_TEST.test(text))) return false
  return findStarts({ ...call, words }).some((word) => protectedDirectory(call, word) === directory)
}

/** `find / -print0 | xargs -0 rm -rf` and `ls / | xargs -I{} rm -rf /{}`: everything in the directory, unless a filter chooses. */
const deletesListed = (directory: ProtectedDirectory, call: Invocation): boolean => {
  const xargs = call.command.wrappers.find(({ program }) => /^g?xargs$|^parallel$/u.test(program))
  if (xargs === undefined || !isRecursive(call)) return false
  const listing = upstream(call.command, call.understood)
  if (!listing.every(({ program }) => LISTS_ALL.has(program ?? ""))) return false
  const placeholder = placeholderOf({ ...call, words: xargs.argv.slice(1) })
  const completed = call.operands.some(
    (word) =>
      word.text.includes(placeholder) &&
      word.text !== placeholder &&
      protectedDirectory(call, { ...word, text: word.text.replaceAll(placeholder, "*"), pattern: true }) === directory,
  )
  if (completed) return true
  return listing.some(({ program, argv }) => {
    const words = argv.slice(1)
    if (program !== "find" || words.some(({ text }) => FIND_TEST.test(text))) return false
    return findStarts({ ...call, words }).some((word) => protectedDirectory(call, word) === directory)
  })
}
const LISTS_ALL = new Set(["find", "gfind", "ls", "sort", "cat", "tr", "uniq", "tac", "rev", "nl"])
const placeholderOf = (xargs: Invocation): string => optionValues(xargs, "-I", "-J", "--replace")[0]?.text || "{}"

const FIND_TEST =
  /^-(?:i?name|i?path|i?wholename|i?regex|i?lname|user|group|uid|gid|newer\w*|[acm]time|[acm]min|size|empty|perm|links|inum|samefile|nouser|nogroup)$/u

const touches = (call: Invocation, ...words: readonly ShellWord[]): ProtectedDirectory | undefined => {
  for (const word of words) {
    const found = protectedDirectory(call, word)
    if (found !== undefined) return found
  }
  return undefined
}

const deleteOperands = (call: Invocation): readonly Effect[] =>
  call.operands.flatMap((word) => {
    const find = word.text === "{}" ? call.command.wrappers.find(({ program }) => /^g?find$/u.test(program)) : undefined
    return find === undefined ? deletion(call, word) : foundFiles({ ...call, words: find.argv.slice(1) })
  })
const deleteDirectory = (call: Invocation): readonly Effect[] => [{ kind: "delete", path: call.command.directory }]

/** Both the path as it is written and where its links lead. */
function deletion(call: Invocation, word: ShellWord | undefined): readonly Effect[] {
  const created = word === undefined ? undefined : createdPath(word)
  if (created !== undefined) return [{ kind: "delete", path: created }]
  const paths = word?.known === true ? pathForms(word, call.command.directory, call.facts) : []
  return paths.length === 0 ? [{ kind: "delete", path: undefined }] : paths.map((path) => ({ kind: "delete", path }))
}

/** An operand outside the user's home that is written as an absolute path. */
const isRootPath = (call: Invocation, { text }: ShellWord): boolean =>
  text.startsWith("/") && !isWithin(text, call.facts.userHome)

const findStarts = (call: Invocation): readonly ShellWord[] => {
  const end = call.words.findIndex(({ text }) => /^[-(!]/u.test(text) && !/^-[HLP]$/u.test(text))
  return (end === -1 ? call.words : call.words.slice(0, end)).filter(({ text }) => !text.startsWith("-"))
}

/** What `find` deletes: with one test of the name, files of that name; otherwise everything below where it starts. */
function foundFiles(call: Invocation): readonly Effect[] {
  const starts = findStarts(call)
  const whole = starts.length === 0 ? deleteDirectory(call) : starts.flatMap((word) => deletion(call, word))
  const name = foundName(call)
  if (name === undefined) return whole
  return whole.map((effect) =>
    effect.kind === "delete" && effect.path !== undefined && isWithin(effect.path, call.facts.workspaceRoot)
      ? { kind: "delete", path: `${effect.path}/${name}` }
      : effect,
  )
}

/** The pattern of the only test of the name. A name that files of git have stands for the whole directory. */
function foundName(call: Invocation): string | undefined {
  const texts = call.words.map(({ text }) => text)
  if (texts.some((text) => /^(?:!|-not|-o|-or|,)$/u.test(text))) return undefined
  const names = optionValues(call, "-name", "-iname")
  const [name] = names
  if (name?.known !== true || names.length !== 1 || name.text.includes("/")) return undefined
  const matches = componentGlob(name.text.toLowerCase())
  return GIT_FILES.some((file) => matches(file.toLowerCase())) ? undefined : name.text
}
const GIT_FILES =
  ".git HEAD ORIG_HEAD config index index.lock refs heads main objects pack info hooks logs description packed-refs 0f 3c2a91 pack-1.pack pack-1.idx".split(
    " ",
  )

/** `find / | while read file; do rm "$file"; done`. */
const isFedByFind = (call: Invocation): boolean =>
  upstream(call.command, call.understood).some(
    ({ program, argv }) =>
      program === "find" && touches(call, ...findStarts({ ...call, words: argv.slice(1) })) !== undefined,
  )

const isFindDeleting = (call: Invocation): boolean => call.words.some(({ text }) => text === "-delete")

const sources = (call: Invocation): readonly ShellWord[] =>
  optionValues(call, "-t", "--target-directory").length > 0 ? call.operands : call.operands.slice(0, -1)

/** Targets of programs that delete as one of several actions. */
const deletedByOthers = (call: Invocation): readonly ShellWord[] => {
  const [action = ""] = call.operands.map(({ text }) => text)
  if (call.program === "cmake")
    return hasFlag(call, /^-E$/u) && /^(?:remove_directory|rm|remove)$/u.test(action) ? call.operands.slice(1) : []
  if (call.program === "rclone") return /^(?:purge|delete|rmdirs|cleanup)$/u.test(action) ? call.operands.slice(1) : []
  if (call.program === "wipe" || call.program === "scrub") return isRecursive(call) ? call.operands : []
  if (call.program === "gio" || call.program === "kioclient")
    return /^(?:trash|remove|rm)$/u.test(action) ? call.operands.slice(1) : []
  return call.operands
}

const RM_PROGRAMS = ["rm", "grm", "srm"]

export const DELETION_RULES: readonly CommandRule[] = [
  {
    key: "recursive delete of root filesystem",
    level: "hardline",
    programs: RM_PROGRAMS,
    when: (call) => deletes("root", call),
    does: "deletes the whole disk",
    effects: deleteOperands,
  },
  {
    key: "recursive delete of system directory",
    level: "hardline",
    programs: RM_PROGRAMS,
    when: (call) => deletes("system", call),
    does: "deletes a directory of the system",
    effects: deleteOperands,
  },
  {
    key: "recursive delete of home directory",
    level: "hardline",
    programs: RM_PROGRAMS,
    when: (call) => deletes("home", call),
    does: "deletes the home directory",
    effects: deleteOperands,
  },
  {
    key: "delete of a system or home directory by another program",
    level: "hardline",
    programs: [
      "cmake",
      "gio",
      "gvfs-trash",
      "kioclient",
      "trash",
      "trash-put",
      "rimraf",
      "del-cli",
      "safe-rm",
      "rmtree",
      "rclone",
      "wipe",
      "scrub",
    ],
    when: (call) => touches(call, ...deletedByOthers(call)) !== undefined,
    does: "deletes a directory of the system or the home directory",
    effects: deleteOperands,
  },
  {
    key: "move of a system or home directory",
    level: "hardline",
    programs: ["mv", "gmv"],
    when: (call) => sources(call).some((word) => protectedDirectory(call, word) !== undefined),
    does: "moves away a directory of the system or the home directory",
    effects: deleteOperands,
  },
  {
    key: "rsync --delete in a system or home directory",
    level: "hardline",
    programs: ["rsync"],
    when: (call) => hasFlag(call, /^--del/u) && touches(call, ...call.operands.slice(-1)) !== undefined,
    does: "replaces the content of a directory of the system or of the home directory",
    effects: (call) => deletion(call, call.operands.at(-1)),
  },
  {
    key: "delete in root path",
    programs: RM_PROGRAMS,
    when: (call) => call.operands.some((word) => isRootPath(call, word)),
    does: "deletes an absolute path",
    effects: deleteOperands,
  },
  {
    key: "recursive delete",
    programs: RM_PROGRAMS,
    when: (call) => hasFlag(call, /^-[a-z]*r/iu) && !deletesOnlyCreated(call.operands, call.understood),
    does: "deletes a directory tree",
    effects: deleteOperands,
  },
  {
    key: "recursive delete (long flag)",
    programs: RM_PROGRAMS,
    when: (call) => hasFlag(call, /^--r(?:e(?:c\w*)?)?$/iu) && !deletesOnlyCreated(call.operands, call.understood),
    does: "deletes a directory tree",
    effects: deleteOperands,
  },
  {
    key: "delete of computed paths",
    programs: RM_PROGRAMS,
    // A word that the shell computes may expand to options and to any path.
    when: (call) =>
      call.words.some(
        (word) =>
          !word.known &&
          createdPath(word) === undefined &&
          (/^(?:\$\(|`)/u.test(word.text) || (word.text.startsWith("$") && isFedByFind(call))),
      ),
    does: "deletes what the shell computes",
    effects: [{ kind: "delete", path: undefined }],
  },
  {
    key: "xargs with rm",
    programs: ["xargs", "gxargs", "parallel"],
    when: (call) =>
      call.words.some(({ text }) => RM_PROGRAMS.includes(programName(text))) || (call.isWrapper && startsRm(call)),
    does: "deletes what its input names",
    effects: [{ kind: "delete", path: undefined }],
  },
  {
    key: "find -exec/-execdir rm",
    programs: ["find", "gfind", "fd", "fdfind"],
    when: (call) =>
      executed(call).some((program) => RM_PROGRAMS.includes(program)) || (call.isWrapper && startsRm(call)),
    does: "deletes the files that are found",
    effects: foundFiles,
  },
  {
    key: "find -delete",
    programs: ["find", "gfind"],
    when: isFindDeleting,
    does: "deletes the files that are found",
    effects: foundFiles,
  },
  {
    key: "delete in a system or home directory with find",
    programs: ["find", "gfind"],
    when: (call) =>
      touches(call, ...findStarts(call)) !== undefined &&
      (isFindDeleting(call) || startsOn(call, DESTRUCTIVE) || overwritesFound(call)),
    does: "deletes or replaces files in a whole directory of the system or in the home directory",
    effects: (call) => findStarts(call).flatMap((word) => deletion(call, word)),
  },
  {
    key: "change permissions in a system or home directory with find",
    programs: ["find", "gfind"],
    when: (call) => touches(call, ...findStarts(call)) !== undefined && startsOn(call, PERMISSIONS),
    does: "changes permissions in a whole directory of the system or in the home directory",
    effects: (call) => findStarts(call).flatMap((word) => deletion(call, word)),
  },
  {
    key: "overwrite before delete (shred)",
    programs: ["shred", "wipe", "scrub", "sdelete"],
    when: (call) => call.operands.length > 0,
    does: "overwrites files so that they cannot be restored",
    effects: deleteOperands,
  },
  {
    key: "rsync --delete",
    programs: ["rsync"],
    when: (call) => hasFlag(call, /^--del|^--remove-source-files$/u),
    does: "deletes files that the source does not have",
    effects: (call) => deletion(call, call.operands.at(-1)),
  },
  {
    key: "archive and delete (tar --remove-files)",
    programs: ["tar", "gtar", "bsdtar"],
    when: (call) => hasFlag(call, /^--remove-files$/u),
    does: "deletes the files that it archives",
    effects: deleteDirectory,
  },
  {
    key: "archive and delete (zip -m)",
    programs: ["zip"],
    when: (call) => hasFlag(call, /^-[a-z]*m|^--move$/u),
    does: "deletes the files that it archives",
    effects: deleteDirectory,
  },
  {
    key: "delete a directory tree",
    programs: ["rimraf", "trash-empty", "del-cli", "rmtree", "safe-rm", "rmdir"],
    when: (call) =>
      call.program === "rmdir"
        ? touches(call, ...call.operands) !== undefined
        : call.operands.length > 0 || call.program === "trash-empty",
    does: "deletes a directory tree",
    effects: deleteOperands,
  },
]

/** The programs that find or fd starts for each file. */
function executed(call: Invocation): readonly string[] {
  return call.words.flatMap(({ text }, index) =>
    /^(?:-(?:exec|execdir|ok|okdir|x|X)|--exec(?:-batch)?)$/u.test(text)
      ? programName(call.words[index + 1]?.text ?? "")
      : [],
  )
}

function startsRm(call: Invocation): boolean {
  return RM_PROGRAMS.includes(programName(call.command.program ?? ""))
}

/** The programs of -exec, also behind a wrapper or in a shell. */
function startsOn(call: Invocation, programs: ReadonlySet<string>): boolean {
  return executed(call).some((program) => programs.has(program)) || programs.has(call.command.program ?? "")
}

/** `-exec cp x {} +` writes to what is found; `-exec cp {} x` only reads it. */
function overwritesFound(call: Invocation): boolean {
  if (!startsOn(call, COPYING)) return false
  const words = (call.isWrapper ? call.command.argv : call.words).map(({ text }) => text)
  if (words.some((text) => /^(?:-t|--target-directory)/u.test(text))) return false
  return /^(?:;|\+|)$/u.test(words[words.lastIndexOf("{}") + 1] ?? "")
}

const DESTRUCTIVE = new Set(["rm", "shred", "unlink", "truncate", "mv", "dd", "tee", "rmdir"])
const COPYING = new Set(["cp", "install", "ln"])
const PERMISSIONS = new Set(["chmod", "chown", "chgrp", "setfacl", "chattr"])
