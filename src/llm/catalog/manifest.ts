import { mkdirSync, readFileSync } from "node:fs"
import { dirname } from "node:path"
import { writeFileAtomic } from "../../base/atomic-file.ts"
import { isRecord, parseJson, stringField } from "../../base/json.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import type { Home } from "../../config/home.ts"
import { openHttpConnection } from "../http/http.ts"
import type { Way } from "../http/http.ts"
import { askJson } from "../http/http-json.ts"

/** A hand-picked list of models, from an address in the settings (`model_catalog.url`). */
export interface Manifest {
  readonly updatedAt: string
  /** Provider to the models worth offering, in order. */
  readonly models: Readonly<Record<string, readonly string[]>>
}

const TOTAL_MS = 8000

/** Version 1 and nothing else: a manifest that is not understood is treated as one that could not be fetched. */
export function parseManifest(json: unknown): Manifest | undefined {
  if (!isRecord(json) || json["version"] !== 1 || !isRecord(json["providers"])) return undefined
  const models: Record<string, readonly string[]> = {}
  for (const [provider, entry] of Object.entries(json["providers"])) {
    const list = isRecord(entry) ? entry["models"] : undefined
    if (!Array.isArray(list)) return undefined
    const ids = list.map((model: unknown) => stringField(model, "id"))
    if (ids.some((id) => id === undefined || id === "")) return undefined
    models[provider] = ids.filter((id) => id !== undefined)
  }
  return { updatedAt: stringField(json, "updated_at") ?? "", models }
}

/** Fetches a manifest and keeps it. The failure is the end of a sentence that begins with the address. */
export async function refreshManifest(
  home: Home,
  options: {
    readonly url: string
    readonly way: Way
    readonly version: string
    readonly signal: AbortSignal
  },
): Promise<Result<Manifest>> {
  const { url, way } = options
  const connection = openHttpConnection(new URL(url), way)
  try {
    const { status, json } = await askJson(connection, {
      path: "",
      headers: { "user-agent": `hermes-agent/${options.version}` },
      timeouts: { connectMs: TOTAL_MS, idleMs: TOTAL_MS },
      signal: AbortSignal.any([options.signal, AbortSignal.timeout(TOTAL_MS)]),
    })
    if (status !== 200) return fail(`answers with code ${status}`)
    const manifest = parseManifest(json)
    if (manifest === undefined) return fail("answers with something that is no model manifest of version 1")
    mkdirSync(dirname(pathOf(home)), { recursive: true, mode: 0o700 })
    writeFileAtomic(pathOf(home), JSON.stringify(json))
    return ok(manifest)
  } catch (error) {
    return fail(`could not be fetched and kept (${explainSystemError(error)})`)
  } finally {
    connection.close()
  }
}

/** The manifest that was fetched last, however old; undefined when there is none. */
export function readManifest(home: Home): Manifest | undefined {
  try {
    return parseManifest(parseJson(readFileSync(pathOf(home), "utf8")))
  } catch {
    // Absent or unreadable: the catalogue that travels with the release says what there is.
    return undefined
  }
}

function pathOf(home: Home): string {
  return home.file("cache", "model_catalog.json")
}
