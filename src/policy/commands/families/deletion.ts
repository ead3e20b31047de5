import { pathForms } from "../command-paths.ts"
import type { CommandRule } from "../command-rule.ts"
import type { Effect } from "../command-verdict.ts"
import { hasFlag, optionValues, programName } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { protectedDirectory } from "../protected-targets.ts"
import type { ProtectedDirectory } from "../protected-targets.ts"
import type { ShellWord } from "../../shell/understood-command.ts"
import { isWithin } from "../../file-floor.ts"

const isRecursive = (call: Invocation): boolean => hasFlag(call, /^--recursive$|^--r(?:e(?:c\w*)?)?$|^-[a-z]*r/iu)

/** `rm dir/*` empties a directory even without a recursive flag. */
const deletes = (directory: ProtectedDirectory, call: Invocation): boolean =>
  deletesWithFind(directory, call) ||
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
const FIND_TEST =
  /^-(?:i?name|i?path|i?wholename|i?regex|i?lname|user|group|uid|gid|newer\w*|[acm]time|[acm]min|size|empty|perm|links|inum|samefile|nouser|nogroup)$/u

const touches = (call: Invocation, ...words: readonly ShellWord[]): ProtectedDirectory | undefined => {
  for (const word of words) {
    const found = protectedDirectory(call, word)
    if (found !== undefined) return found
  }
  return undefined
}

const deleteOperands = (call: Invocation): readonly Effect[] => call.operands.flatMap((word) => deletion(call, word))
const deleteDirectory = (call: Invocation): readonly Effect[] => [{ kind: "delete", path: call.command.directory }]

/** Both the path as it is written and where its links lead. */
function deletion(call: Invocation, word: ShellWord | undefined): readonly Effect[] {
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

const isFindDeleting = (call: Invocation): boolean => call.words.some(({ text }) => text === "-delete")

const sources = (call: Invocation): readonly ShellWord[] =>
  optionValues(call, "-t", "--target-directory").length > 0 ? call.operands : call.operands.slice(0, -1)

/** Targets of programs that delete as one of several actions. */
const deletedByOthers = (call: Invocation): readonly ShellWord[] => {
  const [action = ""] = call.operands.map(({ text }) => text)
  if (call.program === "cmake")
    return hasFlag(call, /^-E$/u) && /^(?:remove_directory|rm|remove)$/u.test(action) ? call.operands.slice(1) : []
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
    when: (call) => hasFlag(call, /^-[a-z]*r/iu),
    does: "deletes a directory tree",
    effects: deleteOperands,
  },
  {
    key: "recursive delete (long flag)",
    programs: RM_PROGRAMS,
    when: (call) => hasFlag(call, /^--r(?:e(?:c\w*)?)?$/iu),
    does: "deletes a directory tree",
    effects: deleteOperands,
  },
  {
    key: "delete of computed paths",
    programs: RM_PROGRAMS,
    // A word that the shell computes may expand to options and to any path.
    when: (call) => call.words.some(({ known, text }) => !known && /^(?:\$\(|`)/u.test(text)),
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
    effects: (call) => findStarts(call).flatMap((word) => deletion(call, word)),
  },
  {
    key: "find -delete",
    programs: ["find", "gfind"],
    when: isFindDeleting,
    does: "deletes the files that are found",
    effects: (call) =>
      findStarts(call).length === 0 ? deleteDirectory(call) : findStarts(call).flatMap((word) => deletion(call, word)),
  },
  {
    key: "delete in a system or home directory with find",
    programs: ["find", "gfind"],
    when: (call) =>
      touches(call, ...findStarts(call)) !== undefined &&
      (isFindDeleting(call) ||
        executed(call).some((program) => DESTRUCTIVE.has(program)) ||
        DESTRUCTIVE.has(call.command.program ?? "")),
    does: "acts on a whole directory of the system or on the home directory",
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

const DESTRUCTIVE = new Set(["rm", "shred", "unlink", "truncate", "mv", "chmod", "chown", "dd", "tee", "cp", "rmdir"])
