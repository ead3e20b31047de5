import { copyFileSync, existsSync, readFileSync } from "node:fs"
import { join } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { explainSystemError, isNotFound } from "../../base/system-error.ts"
import type { Environment } from "../../config/environment.ts"

/** The key bindings of an editor whose terminal can run Hermes. */
export interface EditorSettings {
  readonly editor: string
  readonly path: string
  readonly format: "vscode" | "zed"
  /** `unreadable`: the file has comments or errors, and a change could lose them. */
  readonly state: "bound" | "missing" | "unreadable"
}

/** Finds the editors that are installed for this user. */
export function findEditorSettings({
  userHome,
  environment,
  platform = process.platform,
}: {
  readonly userHome: string
  readonly environment: Pick<Environment, "get">
  readonly platform?: NodeJS.Platform
}): readonly EditorSettings[] {
  const base = configDirectory(userHome, environment, platform)
  const editors = [
    ...VSCODE_FAMILY.map((editor) => ({
      editor,
      directory: join(base, editor, "User"),
      file: "keybindings.json",
      format: "vscode" as const,
    })),
    {
      editor: "Zed",
      directory: join(environment.get("XDG_CONFIG_HOME") ?? join(userHome, ".config"), "zed"),
      file: "keymap.json",
      format: "zed" as const,
    },
  ]
  return editors.flatMap(({ editor, directory, file, format }): readonly EditorSettings[] => {
    if (!existsSync(directory)) return []
    const path = join(directory, file)
    return [{ editor, path, format, state: stateOf(path) }]
  })
}

/** Adds the binding and keeps a copy of the former file. Returns the path of the copy, or of the file where there was none. */
export function addNewlineKey({ path, format }: Pick<EditorSettings, "path" | "format">): Result<string> {
  try {
    const bindings = readBindings(path)
    if (bindings === undefined)
      return fail(
        `${path} has comments or errors, so it was not changed. Bind Shift+Enter there yourself; /terminal-setup does it for files without comments.`,
      )
    const backup = `${path}.before-hermes`
    if (existsSync(path)) copyFileSync(path, backup)
    writeFileAtomic(path, `${JSON.stringify([...bindings, BINDINGS[format]], undefined, 2)}\n`)
    return ok(existsSync(backup) ? backup : path)
  } catch (error) {
    return fail(`${path} was not changed: ${explainSystemError(error)}.`)
  }
}

const VSCODE_FAMILY = ["Code", "Code - Insiders", "Cursor", "Windsurf", "VSCodium"]

/** Esc and Enter, which the editor reads as a new line. */
const SEQUENCE = "\u{1B}\r"

const BINDINGS = {
  vscode: {
    key: "shift+enter",
    command: "workbench.action.terminal.sendSequence",
    when: "terminalFocus",
    args: { text: SEQUENCE },
  },
  zed: { context: "Terminal", bindings: { "shift-enter": ["terminal::SendText", SEQUENCE] } },
} as const

function configDirectory(userHome: string, environment: Pick<Environment, "get">, platform: NodeJS.Platform): string {
  if (platform === "darwin") return join(userHome, "Library", "Application Support")
  if (platform === "win32") return environment.get("APPDATA") ?? join(userHome, "AppData", "Roaming")
  return environment.get("XDG_CONFIG_HOME") ?? join(userHome, ".config")
}

function stateOf(path: string): EditorSettings["state"] {
  const bindings = readBindings(path)
  if (bindings === undefined) return "unreadable"
  return bindings.some(bindsShiftEnter) ? "bound" : "missing"
}

function bindsShiftEnter(entry: unknown): boolean {
  if (!isRecord(entry)) return false
  if (entry["key"] === "shift+enter")
    return typeof entry["when"] === "string" && entry["when"].includes("terminalFocus")
  return entry["context"] === "Terminal" && isRecord(entry["bindings"]) && "shift-enter" in entry["bindings"]
}

/** Undefined when the file is not plain JSON. A missing file has no bindings. */
function readBindings(path: string): readonly unknown[] | undefined {
  try {
    const text = readFileSync(path, "utf8").trim()
    if (text === "") return []
    const decoded = parseJson(text)
    return Array.isArray(decoded) ? decoded : undefined
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
}
