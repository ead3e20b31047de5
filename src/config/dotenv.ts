import { writeFileAtomic } from "../base/atomic-file.ts"
import { FileLockError, withFileLock } from "../base/file-lock.ts"
import { readRegularFile } from "../base/regular-file.ts"
import { fail, ok, type Result } from "../base/result.ts"
import { explainSystemError, isNotFound } from "../base/system-error.ts"
import {
  assignment,
  cleanValue,
  isDeniedForReading,
  isDeniedForWriting,
  isVariableName,
  parseDotenv,
  renderDotenv,
  type DotenvLine,
} from "./dotenv-lines.ts"
import { withVariables, type Environment } from "./environment.ts"
import { secretMode, type Home } from "./home.ts"
import { refuseWhenManaged, type Refusal } from "./managed-home.ts"
import { KNOWN_DOTENV_NAMES } from "./secrets.ts"

export interface LoadedDotenv {
  readonly environment: Environment
  readonly warnings: readonly string[]
  /** The names that the file set, for a later reload. */
  readonly names: readonly string[]
  /** Why the home's file cannot be read. Its keys are missing then. */
  readonly unreadable?: string
}

/**
 * Adds the variables of the home's `.env`, which override inherited ones, so that a stale export cannot hide a saved key.
 * `developmentFile`, the `.env` of a source checkout, only fills gaps.
 */
export function loadDotenv(
  home: Home,
  environment: Environment,
  options: { developmentFile?: string } = {},
): LoadedDotenv {
  const own = readVariables(home.file(".env"), home)
  const development = options.developmentFile === undefined ? EMPTY : readVariables(options.developmentFile, home)
  const gaps = Object.entries(development.values).filter(([name]) => environment.get(name) === undefined)
  return {
    environment: withVariables(environment, { ...Object.fromEntries(gaps), ...own.values }),
    warnings: [...own.warnings, ...development.warnings],
    names: Object.keys(own.values),
    ...(own.unreadable === undefined ? {} : { unreadable: own.unreadable }),
  }
}

/** Reads the file again: sets new and changed keys, and unsets known keys that were removed from it. */
export function reloadDotenv(
  home: Home,
  environment: Environment,
  previousNames: readonly string[],
): LoadedDotenv & { readonly changed: number } {
  const { values, warnings } = readVariables(home.file(".env"), home)
  const removed = previousNames.filter((name) => !Object.hasOwn(values, name) && KNOWN_DOTENV_NAMES.includes(name))
  const changes = {
    ...Object.fromEntries(removed.map((name) => [name, undefined])),
    ...Object.fromEntries(Object.entries(values).filter(([name, value]) => environment.get(name) !== value)),
  }
  const names = Object.keys(values)
  return { environment: withVariables(environment, changes), warnings, names, changed: Object.keys(changes).length }
}

export interface SecretChange {
  readonly home: Home
  readonly environment: Environment
  readonly name: string
}

/** Stores one variable in `.env`; comments and other lines stay. Returns warnings to show. */
export async function storeSecret(
  change: SecretChange & { readonly value: string },
): Promise<Result<readonly string[], Refusal>> {
  const { name } = change
  if (!isVariableName(name)) {
    return fail({
      kind: "invalid",
      message: `"${name}" is not a variable name; use letters, digits and _, not starting with a digit`,
    })
  }
  if (isDeniedForWriting(name)) {
    return fail({
      kind: "invalid",
      message: `${name} cannot be stored: it affects which programs run; set it in your shell instead`,
    })
  }
  const cleaned = cleanValue(name, change.value)
  const written = await editDotenv(change, (lines) => {
    const line = assignment(name, cleaned.value)
    const others = lines.filter((other) => other.kind !== "assignment" || other.name !== name)
    const index = lines.findIndex((other) => other.kind === "assignment" && other.name === name)
    return index === -1 ? [...lines, line] : [...others.slice(0, index), line, ...others.slice(index)]
  })
  return written.ok ? ok(cleaned.warning === undefined ? [] : [cleaned.warning]) : written
}

/** Removes one variable from `.env`; returns whether it was set. */
export async function removeSecret(change: SecretChange): Promise<Result<boolean, Refusal>> {
  return await editDotenv(change, (lines) => {
    const kept = lines.filter((line) => line.kind !== "assignment" || line.name !== change.name)
    return kept.length === lines.length ? undefined : kept
  })
}

interface Variables {
  readonly values: Readonly<Record<string, string>>
  readonly warnings: readonly string[]
  readonly unreadable?: string
}

const EMPTY: Variables = { values: {}, warnings: [] }

function readVariables(path: string, home: Home): Variables {
  let lines: readonly DotenvLine[]
  try {
    lines = readLines(path)
  } catch (cause) {
    const unreadable = `cannot read ${home.display(path)}: ${explainSystemError(cause)}`
    return { values: {}, warnings: [unreadable], unreadable }
  }
  const values: Record<string, string> = {}
  const warnings: string[] = []
  for (const line of lines) {
    if (line.kind !== "assignment") continue
    if (isDeniedForReading(line.name)) {
      warnings.push(`line ${line.line} of ${home.display(path)} sets ${line.name}, which is ignored there; remove it`)
      continue
    }
    const cleaned = cleanValue(line.name, line.value)
    if (cleaned.warning !== undefined) warnings.push(cleaned.warning)
    if (line.name === "MESSAGING_CWD" || line.name === "TERMINAL_CWD") {
      warnings.push(`${line.name} in ${home.display(path)} is obsolete; set terminal.cwd in config.yaml instead`)
    }
    values[line.name] = cleaned.value
  }
  return { values, warnings }
}

const MAX_DOTENV_BYTES = 1_000_000

function readLines(path: string): readonly DotenvLine[] {
  try {
    return parseDotenv(readRegularFile(path, { maxBytes: MAX_DOTENV_BYTES }).bytes)
  } catch (cause) {
    if (isNotFound(cause)) return []
    throw cause
  }
}

async function editDotenv(
  { home, environment }: SecretChange,
  edit: (lines: readonly DotenvLine[]) => readonly DotenvLine[] | undefined,
): Promise<Result<boolean, Refusal>> {
  const managed = refuseWhenManaged(home, environment)
  if (!managed.ok) return managed
  const path = home.file(".env")
  try {
    return await withFileLock(`${path}.lock`, { waitMs: 5_000 }, () => {
      const edited = edit(readLines(path))
      if (edited !== undefined) writeFileAtomic(path, renderDotenv(edited), { mode: secretMode(environment) })
      return ok(edited !== undefined)
    })
  } catch (cause) {
    if (cause instanceof FileLockError) return fail({ kind: "failed", message: cause.message })
    return fail({ kind: "failed", message: `cannot write ${home.display(path)}: ${explainSystemError(cause)}` })
  }
}
