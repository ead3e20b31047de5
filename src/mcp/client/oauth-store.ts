import { readFileSync, rmSync, statSync } from "node:fs"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { sha256Hex } from "../../base/random-and-hash.ts"
import type { Home } from "../../config/home.ts"
import { safePart } from "../tool-names.ts"

/** The login of one server: `mcp-tokens/<server>.json` and `<server>.client.json`, readable only by the user. */
export interface OAuthStore {
  readTokens(): Record<string, unknown> | undefined
  writeTokens(tokens: object): void
  readClient(): Record<string, unknown> | undefined
  writeClient(client: object): void
  /** Rights that the server asked for and the stored login does not have. */
  readRequiredScope(): string | undefined
  writeRequiredScope(scope: string): void
  /** Removes the tokens, or everything. */
  forget(what: "tokens" | "all"): void
  /** Changes when another process stores new tokens. */
  tokensChangedAt(): number
}

export function openOAuthStore(home: Home, server: string): OAuthStore {
  const safe = safePart(server)
  const name = safe === server ? safe : `${safe}-${sha256Hex(server).slice(0, 8)}`
  const tokens = home.file("mcp-tokens", `${name}.json`)
  const client = home.file("mcp-tokens", `${name}.client.json`)
  const write = (path: string, value: object): void => {
    makeDirectories(home.file("mcp-tokens"))
    writeFileAtomic(path, `${JSON.stringify(value)}\n`, { mode: 0o600 })
  }
  return {
    readTokens: () => read(tokens),
    writeTokens: (value) => write(tokens, value),
    readClient: () => read(client),
    writeClient: (value) => write(client, value),
    readRequiredScope: () => {
      const scope = read(client)?.["required_scope"]
      return typeof scope === "string" ? scope : undefined
    },
    writeRequiredScope: (scope) => write(client, { ...read(client), required_scope: scope }),
    forget: (what) => {
      rmSync(tokens, { force: true })
      if (what === "all") rmSync(client, { force: true })
    },
    tokensChangedAt: () => statSync(tokens, { throwIfNoEntry: false })?.mtimeMs ?? 0,
  }
}

function read(path: string): Record<string, unknown> | undefined {
  try {
    const value = parseJson(readFileSync(path, "utf8"))
    return isRecord(value) ? value : undefined
  } catch {
    // There is no login yet.
    return undefined
  }
}
