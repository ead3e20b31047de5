import { readFileSync } from "node:fs"
import { writeFileAtomic } from "../base/atomic-file.ts"
import { FileLockError, withFileLock } from "../base/file-lock.ts"
import { assertNever } from "../base/assert-never.ts"
import { isRecord } from "../base/json.ts"
import { nearest } from "../base/nearest-name.ts"
import { fail, ok, type Result } from "../base/result.ts"
import { explainSystemError, isNotFound } from "../base/system-error.ts"
import { MAX_CONFIG_BYTES } from "./config-file.ts"
import { dotted, splitPath, valueAt, type Path, type Tree } from "./document/document-tree.ts"
import { removeSecret, storeSecret } from "./dotenv.ts"
import type { Environment } from "./environment.ts"
import { restrictMode, secretMode, type Home } from "./home.ts"
import { forgetLastGood } from "./last-good-file.ts"
import { refuseWhenManaged, type Refusal } from "./managed-home.ts"
import { secretValuesIn, secretVariable } from "./secrets.ts"
import { unknownProfileFix } from "./permission-profiles.ts"
import type { Setting } from "./setting.ts"
import { MAIN_SETTINGS, resolveSettingPath } from "./setting-path.ts"
import { CONFIG_VERSION, isSettingKey, settingKeys, settingOf, settingsUnder } from "./settings.ts"
import { refuseUnsafeName } from "./unsafe-name.ts"
import { restoreTemplates } from "./document/template-restore.ts"
import { coerceValue } from "./document/value-coercion.ts"
import { expectedValue, nearestChoice } from "./document/expected-value.ts"
import type { parseYaml, ParsedYaml } from "./document/yaml-document.ts"

export interface EditContext {
  readonly home: Home
  readonly environment: Environment
}

export interface Edited {
  readonly file: "config.yaml" | ".env"
  /** The settings or variables that were changed. */
  readonly paths: readonly string[]
  readonly warnings: readonly string[]
  /** The variables in `.env` that were changed with them, because the Python edition reads them there. */
  readonly mirrored: readonly string[]
}

/** `hermes config set`: chooses the file, converts the value and writes it. */
export async function setFromText(context: EditContext, path: string, text: string): Promise<Result<Edited, Refusal>> {
  const secret = path.includes(".") ? undefined : secretVariable(path)
  if (secret !== undefined) {
    const stored = await storeSecret({ ...context, name: secret, value: text })
    return stored.ok ? ok({ file: ".env", paths: [secret], warnings: stored.value, mirrored: [] }) : stored
  }
  const value = coerceValue(text)
  if (!value.ok) return fail({ kind: "invalid", message: value.error })
  const edits = editsFor(path, value.value)
  if (!edits.ok) return edits
  const edited = await editConfig(context, edits.value)
  if (!edited.ok) return edited
  const warnings: string[] = []
  for (const edit of edits.value) {
    const mirrored = await mirrorTerminal(context, edit.path, edit.value)
    if (!mirrored.ok) return mirrored
    warnings.push(...noEffect(edit.path), ...mirrored.value)
  }
  const paths = edits.value.map((edit) => edit.path)
  return ok({
    file: "config.yaml",
    paths,
    warnings,
    mirrored: paths.flatMap((changed) => mirroredVariable(changed) ?? []),
  })
}

/** Whether `setFromText` would accept the value for the user's document. Writes nothing. */
export function checkText(path: string, text: string, tree: Tree): Result<undefined, Refusal> {
  const value = coerceValue(text)
  if (!value.ok) return fail({ kind: "invalid", message: value.error })
  const edits = editsFor(path, value.value)
  if (!edits.ok) return edits
  const refused = edits.value.map((edit) => profileRefusal(edit, tree)).find((refusal) => refusal !== undefined)
  return refused === undefined ? ok(undefined) : fail(refused)
}

interface ValueEdit {
  readonly path: string
  readonly value: unknown
}

/**
 * The edits that set a path to a value. A mapping for a section sets the settings it names and keeps the others. A single value sets
 * the main setting of the section, or is refused: it would delete the settings of the section.
 */
function editsFor(path: string, value: unknown): Result<readonly ValueEdit[], Refusal> {
  const target = resolveSettingPath(path)
  if (target.kind === "unknown") {
    const safe = refuseUnsafeName(path)
    if (!safe.ok) return safe
  }
  if (target.kind !== "section") {
    const fits = checkValue(path, value)
    return fits.ok ? ok([{ path, value }]) : fits
  }
  if (!isRecord(value)) {
    const main = MAIN_SETTINGS[path]
    return main === undefined ? fail(sectionRefusal(path, target.settings)) : editsFor(main, value)
  }
  if (Object.keys(value).length === 0) {
    const message = `an empty mapping sets nothing in \`${path}\`; \`hermes config unset ${path}\` removes its settings`
    return fail({ kind: "invalid", message })
  }
  const edits: ValueEdit[] = []
  for (const [name, inner] of Object.entries(value)) {
    const members = editsFor(`${path}.${name}`, inner)
    if (!members.ok) return members
    edits.push(...members.value)
  }
  return ok(edits)
}

const MAX_LISTED_KEYS = 5

function sectionRefusal(path: string, settings: readonly (readonly [string, Setting])[]): Refusal {
  const inUse = settings.filter(([, { reserved }]) => reserved !== true)
  const keys = (inUse.length > 0 ? inUse : settings).map(([key]) => `\`${key}\``)
  const more = keys.length > MAX_LISTED_KEYS ? ` and ${keys.length - MAX_LISTED_KEYS} more` : ""
  return {
    kind: "invalid",
    message: `\`${path}\` is a section, not a setting; set one of its settings: ${keys.slice(0, MAX_LISTED_KEYS).join(", ")}${more}`,
  }
}

/** `hermes config unset`. */
export async function unsetPath(context: EditContext, path: string): Promise<Result<Edited, Refusal>> {
  const secret = path.includes(".") ? undefined : secretVariable(path)
  if (secret !== undefined) {
    const removed = await removeSecret({ ...context, name: secret })
    if (!removed.ok) return removed
    return removed.value
      ? ok({ file: ".env", paths: [secret], warnings: [], mirrored: [] })
      : fail({ kind: "failed", message: `${secret} is not set in .env` })
  }
  const edited = await editConfig(context, [{ path, remove: true }])
  if (!edited.ok) return edited
  const mirrored: string[] = []
  for (const [key] of settingsUnder(path)) {
    const variable = mirroredVariable(key)
    if (variable === undefined) continue
    const removed = await removeSecret({ ...context, name: variable })
    if (!removed.ok) return removed
    if (removed.value) mirrored.push(variable)
  }
  return ok({ file: "config.yaml", paths: [path], warnings: [], mirrored })
}

export type ConfigEdit =
  | { readonly path: Path; readonly value: unknown }
  | { readonly path: Path; readonly remove: true }

/**
 * Changes only the given paths in the user's file: comments, order and `${VAR}` templates stay, defaults are never written.
 * Applies all edits or none. Refuses while the file does not parse.
 */
export async function editConfig(
  context: EditContext,
  edits: readonly ConfigEdit[],
): Promise<Result<undefined, Refusal>> {
  const { setInDocument, removeFromDocument } = await import("./document/yaml-edit.ts")
  return await rewriteConfig(context, ({ document, tree }) => {
    const { model } = tree
    if (typeof model === "string" && edits.some(({ path }) => dotted(path).startsWith("model."))) {
      // The short form `model: x` would be lost when it is replaced by a mapping.
      setInDocument(document, "model", { default: model })
    }
    for (const edit of edits) {
      const bad = badPath(edit.path)
      if (bad !== undefined) return fail({ kind: "invalid", message: bad })
      if ("remove" in edit) {
        if (!removeFromDocument(document, edit.path)) {
          return fail({ kind: "failed", message: `\`${dotted(edit.path)}\` is not set in config.yaml` })
        }
      } else {
        const refusal = profileRefusal(edit, tree)
        if (refusal !== undefined) return fail(refusal)
        const value = restoreTemplates(edit.value, valueAt(tree, edit.path), context.environment)
        const done = setInDocument(document, edit.path, value)
        if (!done.ok) return fail({ kind: "invalid", message: `cannot set \`${dotted(edit.path)}\`: ${done.error}` })
      }
    }
    return ok(undefined)
  })
}

/** A permission profile may be one of the user's own, so its name is checked against the document. */
function profileRefusal(edit: { readonly path: Path; readonly value: unknown }, tree: Tree): Refusal | undefined {
  if (dotted(edit.path) !== "approvals.profile" || typeof edit.value !== "string" || edit.value === "") return undefined
  const custom = valueAt(tree, "approvals.profiles")
  const fix = unknownProfileFix(edit.value, isRecord(custom) ? Object.keys(custom) : [])
  return fix === undefined ? undefined : { kind: "invalid", message: `invalid value for \`approvals.profile\`; ${fix}` }
}

/** Replaces the whole document; templates whose value did not change stay templates. */
export async function saveConfig(context: EditContext, settings: Tree): Promise<Result<undefined, Refusal>> {
  return await rewriteConfig(context, ({ document, tree }) => {
    document.contents = document.createNode(restoreTemplates(settings, tree, context.environment))
    return ok(undefined)
  })
}

/** Locks and parses the user's document, calls `change`, and writes it back if that succeeds. */
export async function rewriteConfig<T>(
  { home, environment }: EditContext,
  change: (parsed: ParsedYaml) => Result<T, Refusal>,
): Promise<Result<T, Refusal>> {
  const managed = refuseWhenManaged(home, environment)
  if (!managed.ok) return managed
  const path = home.file("config.yaml")
  const { parseYaml, renderYaml } = await import("./document/yaml-document.ts")
  try {
    return await withFileLock(`${path}.lock`, { waitMs: 5_000 }, () => {
      const text = currentText(path)
      const parsed = parseYaml(text ?? `_config_version: ${CONFIG_VERSION}\n`)
      if (!parsed.ok) {
        const { line, column, message } = parsed.error
        const where = `${home.display(path)} does not parse (line ${line}, column ${column}: ${message})`
        return fail({ kind: "failed", message: `${where}; nothing was changed, repair the file first` })
      }
      const changed = change(parsed.value)
      if (!changed.ok) return changed
      const rendered = renderYaml(parsed.value.document, text ?? "")
      if (rendered === text) return changed
      const mode = secretMode(environment)
      if (text !== undefined && mode !== undefined && addsSecret(parsed.value.tree, parseYaml(rendered)))
        restrictMode(path, { environment, mode })
      writeFileAtomic(path, rendered, { mode })
      if (text !== undefined) forgetLastGood(home, "config.yaml", text)
      return changed
    })
  } catch (cause) {
    if (cause instanceof FileLockError) return fail({ kind: "failed", message: cause.message })
    return fail({ kind: "failed", message: `cannot change ${home.display(path)}: ${explainSystemError(cause)}` })
  }
}

/** Other users of the machine must not read a secret in a file that they could read before. */
function addsSecret(before: Tree, after: ReturnType<typeof parseYaml>): boolean {
  const known = new Set(secretValuesIn(before))
  return after.ok && secretValuesIn(after.value.tree).some((value) => !known.has(value))
}

/** The file's text, or undefined when there is none yet. Throws for text that is not UTF-8, which a rewrite would corrupt. */
function currentText(path: string): string | undefined {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (cause) {
    if (isNotFound(cause)) return undefined
    throw cause
  }
  if (bytes.length > MAX_CONFIG_BYTES) throw new Error(`the file is larger than ${MAX_CONFIG_BYTES / 1_000_000} MB`)
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new Error("the file is not UTF-8 text", { cause })
  }
}

function badPath(path: Path): string | undefined {
  const segments = splitPath(path)
  const shown = dotted(path)
  if (segments.some((segment) => segment.trim() === ""))
    return `"${shown}" is not a setting path; write it as section.key`
  return segments.includes("__proto__") ? `"${shown}" cannot be a setting path` : undefined
}

/** Refuses a value that a known setting cannot use. */
function checkValue(path: string, value: unknown): Result<undefined, Refusal> {
  const target = resolveSettingPath(path)
  if (target.kind === "member" && !["mapping", "list", "mixed"].includes(target.setting.type)) {
    const message = `\`${target.key}\` is a single value, so \`${path}\` cannot be set; use ${expectedValue(target.setting)}`
    return fail({ kind: "invalid", message })
  }
  if (target.kind !== "setting") return ok(undefined)
  const { setting } = target
  const read = setting.read(value)
  const clamped = typeof read === "number" && read !== Number(value)
  if (read !== undefined && !clamped) return ok(undefined)
  const expected = `${expectedValue(setting)}${nearestChoice(value, setting)}`
  return fail({ kind: "invalid", message: `invalid value for \`${path}\`; use ${expected}` })
}

/** A warning about a path that no code of this release reads: a reserved setting, or a name that is probably misspelt. */
function noEffect(path: string): readonly string[] {
  const target = resolveSettingPath(path)
  switch (target.kind) {
    case "setting":
      return target.setting.reserved === true ? [reservedNote(path)] : []
    case "member": {
      if (target.setting.reserved === true) return [reservedNote(target.key)]
      const { fields } = target.setting
      return fields === undefined
        ? []
        : [
            unknownNote(
              path,
              Object.keys(fields).map((name) => `${target.key}.${name}`),
            ),
          ]
    }
    case "section":
      return []
    case "unknown": {
      const [top = path] = path.split(".")
      const known = settingKeys()
      const sections = new Set(known.map((key) => key.split(".")[0] ?? key))
      if (!sections.has(top)) return [unknownNote(top, sections)]
      return [
        unknownNote(
          path,
          known.filter((key) => key.startsWith(`${top}.`)),
        ),
      ]
    }
    default:
      return assertNever(target)
  }
}

function reservedNote(key: string): string {
  return `\`${key}\` is reserved for a later release: it is stored, but has no effect yet`
}

function unknownNote(path: string, candidates: Iterable<string>): string {
  const similar = nearest(path, candidates)
  return `\`${path}\` is not a setting of this release${similar === undefined ? "" : `; did you mean \`${similar}\`?`}`
}

/** Also writes the variable that the Python edition reads from `.env`; not for the working directory, which is obsolete there. */
async function mirrorTerminal(
  context: EditContext,
  path: string,
  value: unknown,
): Promise<Result<readonly string[], Refusal>> {
  const variable = mirroredVariable(path)
  if (variable === undefined || !isSettingKey(path)) return ok([])
  const setting: Setting = settingOf(path)
  // `off` on the command line is the boolean false, but the name of a choice in the variable.
  const read = setting.read(value)
  const text = typeof read === "string" ? read : JSON.stringify(read)
  return await storeSecret({ ...context, name: variable, value: text })
}

function mirroredVariable(path: string): string | undefined {
  if (!path.startsWith("terminal.") || path === "terminal.cwd" || !isSettingKey(path)) return undefined
  const setting: Setting = settingOf(path)
  return setting.environment?.name
}
