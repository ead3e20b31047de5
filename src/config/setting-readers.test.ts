import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { ENVIRONMENT_VARIABLES } from "./environment-variables.ts"
import { settingEntries } from "./settings.ts"

const SRC = join(import.meta.dirname, "..")

/** These show or edit any setting, so that a mention there gives the setting no effect. */
const REPORTING = /^(?:config\/|admin\/(?:report|settings)\/|cli\/commands\/setup)/

/** Readers that do not write `config.get("key")`: each setting with the file and the expression that reads it. */
const INDIRECT: Readonly<Record<string, readonly [file: string, expression: string]>> = {
  _config_version: ["config/validate.ts", 'raw["_config_version"]'],
  custom_providers: ["config/migration/legacy-settings.ts", "custom_providers"],
  "terminal.singularity_image": ["exec/open-backend.ts", 'imageOf(options, "terminal.singularity_image")'],
  "terminal.modal_image": ["exec/open-backend.ts", 'imageOf(options, "terminal.modal_image")'],
  "terminal.daytona_image": ["exec/open-backend.ts", 'imageOf(options, "terminal.daytona_image")'],
  ...Object.fromEntries(
    ["exact_failure", "same_tool_failure", "idempotent_no_progress"].flatMap((name) =>
      ["warn_after", "hard_stop_after"].map((when) => [
        `tool_loop_guardrails.${when}.${name}`,
        ["app/session/session-dispatch.ts", `config.get(\`tool_loop_guardrails.\${when}.${name}\`)`] as const,
      ]),
    ),
  ),
}

/** Settings that only `hermes doctor` uses: it checks or reports what they name. */
const DOCTOR_ONLY = new Set(["security.acked_advisories"])

test("every setting is read by some code or is marked as reserved", () => {
  const unread = settingEntries().flatMap(([key, { reserved }]) => (isRead(key) || reserved === true ? [] : [key]))
  expect(unread).toEqual([])
})

test("a reserved setting that has got a reader is no longer marked", () => {
  expect(settingEntries().flatMap(([key, { reserved }]) => (reserved === true && isRead(key) ? [key] : []))).toEqual([])
})

test("every environment variable is read by some code or is marked as reserved", () => {
  const ofSettings = new Set(settingEntries().map(([, { environment }]) => environment?.name))
  const wrong = ENVIRONMENT_VARIABLES.filter(({ name, later }) => {
    if (ofSettings.has(name) || name.includes("<")) return false
    return sources().some(({ file, text }) => file !== VARIABLE_TABLE && mentions(text, name)) === (later === true)
  })
  expect(wrong.map(({ name }) => name)).toEqual([])
})

const VARIABLE_TABLE = "config/environment-variables.ts"

function mentions(text: string, variable: string): boolean {
  return new RegExp(String.raw`\b${variable}\b`).test(text)
}

function isRead(key: string): boolean {
  const indirect = INDIRECT[key]
  if (indirect !== undefined) {
    const [file, expression] = indirect
    return readFileSync(join(SRC, file), "utf8").includes(expression)
  }
  const task = /^auxiliary\.(\w+)$/.exec(key)?.[1]
  if (task !== undefined) return sources().some(({ text }) => text.includes(`task: "${task}"`))
  return (readers().get(key) ?? []).some(
    (file) => !REPORTING.test(file) && (DOCTOR_ONLY.has(key) || !file.startsWith("admin/doctor/")),
  )
}

interface Source {
  readonly file: string
  readonly text: string
}

let read: readonly Source[] | undefined

function sources(): readonly Source[] {
  read ??= globSync("**/*.ts", { cwd: SRC })
    .filter((file) => !file.endsWith(".test.ts") && !file.includes(".generated."))
    .map((file) => ({ file, text: readFileSync(join(SRC, file), "utf8") }))
  return read
}

let found: Map<string, string[]> | undefined

/** The files with `config.get("key")`, or `display.get("key")` where it can change during a conversation, by key. */
function readers(): ReadonlyMap<string, readonly string[]> {
  if (found !== undefined) return found
  found = new Map()
  for (const { file, text } of sources()) {
    for (const [, key = ""] of text.matchAll(/\b(?:config|display)\s*\??\.get\(\s*"([^"]+)"/g)) {
      found.set(key, [...(found.get(key) ?? []), file])
    }
  }
  return found
}
