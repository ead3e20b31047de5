import { mkdirSync, readFileSync } from "node:fs"
import { dirname } from "node:path"
import { writeFileAtomic } from "../../base/atomic-file.ts"
import { isRecord, parseJson, stringField } from "../../base/json.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import type { Home } from "../../config/home.ts"
import { openHttpConnection } from "../http/http-connection.ts"
import type { ConnectionSettings } from "../http/http-connection.ts"
import { requestJson } from "../http/http-json.ts"

/** A curated list of models, fetched from the URL in `model_catalog.url`. */
export interface Manifest {
  /** Maps a provider to its models in display order. */
  readonly models: Readonly<Record<string, readonly string[]>>
}

const TOTAL_MS = 8000

/** Accepts only version 1; any other manifest counts as one that could not be fetched. */
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
  return { models }
}

/** Fetches a manifest and stores it. The failure text ends a sentence that begins with the address. */
export async function refreshManifest(
  home: Home,
  options: {
    readonly url: string
    readonly connectionSettings: ConnectionSettings
    readonly version: string
    readonly signal: AbortSignal
  },
): Promise<Result<Manifest>> {
  const { url, connectionSettings } = options
  const connection = openHttpConnection(new URL(url), connectionSettings)
  try {
    const { status, json } = await requestJson(connection, {
      path: "",
      headers: { "user-agent": `hermes-agent/${options.version}` },
      timeouts: { connectMs: TOTAL_MS, idleMs: TOTAL_MS },
      signal: AbortSignal.any([options.signal, AbortSignal.timeout(TOTAL_MS)]),
    })
    if (status !== 200) return fail(`responded with HTTP ${status}`)
    const manifest = parseManifest(json)
    if (manifest === undefined) return fail("did not return a model manifest of version 1")
    mkdirSync(dirname(pathOf(home)), { recursive: true, mode: 0o700 })
    writeFileAtomic(pathOf(home), JSON.stringify(json))
    return ok(manifest)
  } catch (error) {
    return fail(`could not be fetched and stored (${explainSystemError(error)})`)
  } finally {
    connection.close()
  }
}

/** Returns the manifest that was fetched last, however old; undefined when there is none. */
export function readManifest(home: Home): Manifest | undefined {
  try {
    return parseManifest(parseJson(readFileSync(pathOf(home), "utf8")))
  } catch {
    // Absent or unreadable: the built-in catalogue is used instead.
    return undefined
  }
}

function pathOf(home: Home): string {
  return home.file("cache", "model_catalog.json")
}
