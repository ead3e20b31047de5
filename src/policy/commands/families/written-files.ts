import { posix } from "node:path"
import type { ShellWord } from "../../shell/understood-command.ts"
import { absolutePath, linkInRealDirectory, pathForms } from "../command-paths.ts"
import { shownText } from "../command-rule.ts"
import type { CommandFinding, Effect } from "../command-verdict.ts"
import type { Invocation } from "../invocation.ts"
import { createdPath, isEditedPath, isListedFile, pathsFromPrograms } from "../printed-names.ts"
import { isOutsideProject, isSteeringDirectory, pathClass } from "../path-classes.ts"
import { pathGlob } from "../shell-glob.ts"
import type { PathClass } from "../path-classes.ts"
import type { WriteMethod, WrittenPath } from "../written-paths.ts"

/** Findings about the files that a command writes or deletes: the key depends on the class of the path and on how it is written. */
export function findWrittenFiles(
  call: Invocation,
  paths: readonly WrittenPath[],
  kind: "write" | "delete",
): readonly CommandFinding[] {
  return paths.flatMap((written) => {
    if ((written.method === "delete") !== (kind === "delete")) return []
    for (const path of writtenForms(call, written)) {
      const isObeyed = written.tree === true && isSteeringDirectory(path, call.facts)
      const found = pathClass(path, call.facts) ?? (isObeyed ? "executed by tools" : undefined)
      const key = found === undefined ? undefined : keyOf(found, written)
      if (key !== undefined && found !== undefined)
        return finding(call, {
          key,
          does: written.method === "hard link" ? LINKED : WHAT[found],
          effect: found === "project permissions" ? { kind: "person" } : { kind, path },
        })
    }
    const lost = lostOutside(call, written)
    if (lost !== undefined)
      return finding(call, {
        ...(kind === "delete" ? DELETED_OUTSIDE : REPLACED_OUTSIDE),
        effect: { kind, path: lost },
      })
    return isComputed(call, written) ? finding(call, { ...COMPUTED, effect: { kind, path: undefined } }) : []
  })
}

const DELETED_OUTSIDE = { key: "delete outside the project", does: "deletes a file outside the project" }
const REPLACED_OUTSIDE = {
  key: "overwrite a file outside the project",
  does: "replaces what a file outside the project contains",
}

/** A file outside the project that is gone or has another content afterwards. No checkpoint covers it. */
function lostOutside(call: Invocation, written: WrittenPath): string | undefined {
  const { method, keeps } = written
  const isLost =
    method === "delete" ? !REMOVES_NO_FILE.has(call.program) : LOSES.has(method) || TRUNCATES.has(call.program)
  if (!isLost || keeps === true) return undefined
  const forms = writtenForms(call, written)
  return forms.length > 0 && forms.every((path) => isOutside(path, call)) ? forms[0] : undefined
}

/** `mv` leaves the file under another name; `rmdir` removes only what is empty. */
const REMOVES_NO_FILE: ReadonlySet<string> = new Set(["mv", "gmv", "rmdir"])
const LOSES: ReadonlySet<WriteMethod> = new Set<WriteMethod>([
  "redirection",
  "tee",
  "copy",
  "in-place edit",
  "in-place edit (long flag)",
  "in-place edit (perl/ruby)",
])
const TRUNCATES: ReadonlySet<string> = new Set(["truncate", "dd", "shred", "ed", "ex", "split"])

function isOutside(path: string, { facts, command }: Invocation): boolean {
  // What the text of the path depends on may not be known.
  return command.source !== "remote" && isOutsideProject(path, facts) && !/[$`]/u.test(path)
}

function writtenForms(call: Invocation, { word, method }: WrittenPath): readonly string[] {
  const { directory } = call.command
  if (call.program === "ln" && method !== "hard link") {
    // The link that `ln` makes is not followed: nothing is written to where it leads.
    const sources = call.operands.slice(0, -1).flatMap((source) => pathForms(source, directory, call.facts))
    const path = absolutePath(word, directory)
    if (path === undefined) return pathForms(word, directory, call.facts)
    return [path, linkInRealDirectory(word, directory, call.facts)].flatMap((path) =>
      path === undefined || sources.includes(posix.dirname(path)) ? [] : path,
    )
  }
  const forms = [
    ...pathForms(word, directory, call.facts),
    ...matchedLinks(word, call),
    ...pathsFromPrograms(word, call.facts),
  ]
  return forms.length > 0 || word.known ? forms : belowComputedDirectory(word, call)
}

/** `tee *.txt`: links that commands of this shell made and that the pattern matches. */
function matchedLinks(word: ShellWord, { command, understood }: Invocation): readonly string[] {
  const { links } = understood.after
  if (!word.pattern || links === undefined || links.size === 0) return []
  const pattern = absolutePath(word, command.directory)
  if (pattern === undefined) return []
  const matches = pathGlob(pattern)
  return [...links].flatMap(([from, to]) => (matches(from) ? [to] : []))
}

/** `$(command)/.bashrc`: the directory may be the home, a repository or one of a tool. */
function belowComputedDirectory({ text }: ShellWord, { facts }: Invocation): readonly string[] {
  const rest = COMPUTED_DIRECTORY.exec(text)?.[1]
  if (rest === undefined) return []
  // `$(git rev-parse --git-dir)/hooks/pre-commit`
  if (/rev-parse\s[^)]*--(?:absolute-)?git-(?:common-)?dir|GIT_DIR/u.test(text))
    return [`${facts.workspaceRoot}/.git/${rest}`]
  const paths = [`${facts.userHome}/${rest}`, `${facts.userHome}/.local/lib/python3/${rest}`]
  return paths.filter((path, index) => {
    const found = pathClass(path, facts)
    return index === 0
      ? found !== undefined && found !== "project env/config"
      : /(?:\.pth|(?:site|user)customize\.py)$/u.test(rest)
  })
}
const COMPUTED_DIRECTORY = /^(?:\$\w+|\$\{\w+\}|\$\([^()]*(?:\([^()]*\)[^()]*)*\)|`[^`]*`)\/([^$`]+)$/u

const COMPUTED = { key: "write to a computed path", does: "writes to a file whose name the shell computes" }

function finding(
  call: Invocation,
  found: { readonly key: string; readonly does: string; readonly effect: Effect },
): CommandFinding {
  return {
    level: "ask",
    key: found.key,
    description: `${shownText(call)} ${found.does}`,
    view: "argv",
    effects: [found.effect],
  }
}

/** `> $file`: a name of which nothing is known. `> "$name.html"` ends in a way that none of the protected files does. */
function isComputed(call: Invocation, { word, method }: WrittenPath): boolean {
  if (word.known || isNewFile(call, word)) return false
  if (isEditedPath(word, call.facts)) return true
  if (method === "delete" || method === "copy") return false
  // As with `git ls-files '*.ts' | xargs sed -i …`.
  if (method.startsWith("in-place edit") && isListedFile(word, call.command.directory, call.facts)) return false
  return (
    absolutePath(word, call.command.directory) === undefined &&
    /^(?:\$\w+|\$\{\w+\}|\$\(.*\)|`.*`)$/su.test(word.text) &&
    !HARMLESS_VARIABLE.test(word.text)
  )
}

/** `F=$(mktemp); … > "$F"`, unless a link may have replaced the file. */
function isNewFile({ understood }: Invocation, word: ShellWord): boolean {
  return createdPath(word) !== undefined && !understood.commands.some(({ program }) => LINKS.has(program ?? ""))
}

const LINKS: ReadonlySet<string> = new Set(["ln", "gln", "link"])

/** Files in which a CI system collects results. */
const HARMLESS_VARIABLE = /^\$\{?GITHUB_(?:OUTPUT|ENV|STEP_SUMMARY|PATH)\}?$/u

const ORDINARY: Readonly<Record<PathClass, string | undefined>> = {
  "hermes file": "overwrite Hermes config/env",
  "hermes home": "write into the Hermes home",
  "hermes program": "change the program of Hermes",
  "system config": "overwrite system config",
  "user-sensitive": "overwrite credential, SSH or shell start-up file",
  "account credentials": "overwrite credentials of the account",
  "start-up": "write a file that runs at start-up or login",
  system: "write into a system directory",
  kernel: "change kernel settings",
  "executed by tools": "write a file that other programs execute",
  "agent instructions": "change instructions for agents",
  "project permissions": "change the permissions of the project",
  "project env/config": undefined,
}

const REDIRECTED = "overwrite system file via redirection"
const TEED = "overwrite system file via tee"
const COPIED = "copy/move file into sensitive credential/SSH/shell-rc path"
const EDITED = "in-place edit of sensitive credential/SSH/shell-rc path"
const EDITED_HERMES = "in-place edit of Hermes config/env"

const KEYS: Readonly<
  Record<Exclude<WriteMethod, "hard link" | "other" | "delete">, Partial<Record<PathClass, string>>>
> = {
  redirection: {
    "system config": "overwrite system config",
    "user-sensitive": REDIRECTED,
    "hermes file": REDIRECTED,
    "project env/config": "overwrite project env/config via redirection",
  },
  tee: {
    "system config": TEED,
    "user-sensitive": TEED,
    "hermes file": TEED,
    "project env/config": "overwrite project env/config via tee",
  },
  copy: {
    "system config": "copy/move file into system config path",
    "user-sensitive": COPIED,
    "hermes file": COPIED,
    "project env/config": "overwrite project env/config file",
  },
  "in-place edit": {
    "system config": "in-place edit of system config",
    "user-sensitive": EDITED,
    "hermes file": EDITED_HERMES,
  },
  "in-place edit (long flag)": {
    "system config": "in-place edit of system config (long flag)",
    "user-sensitive": `${EDITED} (long flag)`,
    "hermes file": `${EDITED_HERMES} (long flag)`,
  },
  "in-place edit (perl/ruby)": {
    "user-sensitive": `${EDITED} (perl/ruby)`,
    "hermes file": `${EDITED_HERMES} (perl/ruby)`,
  },
}

function keyOf(found: PathClass, { method, derived, word }: WrittenPath): string | undefined {
  if (method === "delete") return DELETED[found]
  // A new name in a directory may be a template of a project or a copy of one; the directory itself was named on purpose.
  if (derived && (found === "project env/config" || /\/\.(?:git|hermes)$/u.test(word.text))) return undefined
  return (method === "other" || method === "hard link" ? undefined : KEYS[method][found]) ?? ORDINARY[found]
}

const DELETED: Readonly<Record<PathClass, string | undefined>> = {
  "hermes file": "delete in the Hermes home",
  "hermes home": "delete in the Hermes home",
  "hermes program": "change the program of Hermes",
  "system config": "delete in a system directory",
  "user-sensitive": "delete credential, SSH or shell start-up file",
  "account credentials": "delete credentials of the account",
  "start-up": "delete a start-up file of the account",
  system: "delete in a system directory",
  kernel: "change kernel settings",
  "executed by tools": undefined,
  "agent instructions": undefined,
  "project permissions": "change the permissions of the project",
  "project env/config": undefined,
}

const LINKED = "gives a protected file a second name, through which it can be changed"

const WHAT: Readonly<Record<PathClass, string>> = {
  "hermes file": "changes settings or credentials of Hermes",
  "hermes home": "changes files of Hermes",
  "hermes program": "changes the program of Hermes",
  "system config": "changes settings of the system",
  "user-sensitive": "changes keys, logins or start-up files of the account",
  "account credentials": "changes credentials of the account",
  "start-up": "changes a file that is executed at login or by other programs",
  system: "changes a directory of the system",
  kernel: "changes settings of the kernel",
  "executed by tools": "changes a file that other programs execute",
  "agent instructions": "changes instructions that agents follow in later sessions",
  "project permissions": "changes what Hermes may do in this project",
  "project env/config": "replaces an environment or configuration file of the project",
}
