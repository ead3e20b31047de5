import { readFileSync, rmSync } from "node:fs"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { canonicalJson, isRecord, parseJson } from "../../base/json.ts"
import { makeDirectories } from "../../base/make-directories.ts"
import { fingerprint, sha256Hex } from "../../base/random-and-hash.ts"
import { isNotFound } from "../../base/system-error.ts"
import type { Home } from "../../config/home.ts"
import type { JsonSchema } from "../../protocol/tool.ts"
import type { ServerSettings } from "../server-settings.ts"
import { safePart } from "../tool-names.ts"

/**
 * What is known about a server from its last connection. A session offers its tools from here at once, and their descriptions are
 * pinned: what the server says later is compared with what was accepted.
 */
export interface StoredServer {
  /** Identifies the program or address. Another one is another server, and nothing is known about it. */
  readonly fingerprint: string
  /** Which handshake the server understood. */
  readonly protocol: "legacy" | "modern"
  readonly hasResources: boolean
  readonly hasPrompts: boolean
  readonly tools: readonly StoredTool[]
  readonly prompts: readonly StoredPrompt[]
}

export interface StoredTool {
  /** The server's name for it. */
  readonly name: string
  readonly accepted?: ToolDescription
  /** The newest description, where it is not the accepted one. It reaches no model, and calls are refused, until the user accepts it. */
  readonly waiting?: ToolDescription
  /** Why the newest description was not accepted: it changed, or the scan found something in it. */
  readonly reason?: string
  readonly blocked?: boolean
  /** The server does not list it any more. The pin stays, in case it comes back with another description. */
  readonly gone?: boolean
}

export interface ToolDescription {
  /** Of everything the server said about the tool. */
  readonly hash: string
  readonly description: string
  readonly parameters: JsonSchema
  readonly readOnly: boolean
}

export interface StoredPrompt {
  readonly name: string
  readonly description: string
  readonly arguments: readonly { readonly name: string; readonly required: boolean }[]
}

/** The description that is offered to the model: the accepted one. Undefined for a tool that has none or is gone. */
export function offeredDescription({ accepted, gone }: StoredTool): ToolDescription | undefined {
  return gone === true ? undefined : accepted
}

export function serverFingerprint({ target }: ServerSettings): string {
  const identity =
    target.kind === "http" ? { url: target.url } : { command: target.command, args: target.args, cwd: target.cwd }
  // Not a secure hash, because loading one would slow the start down. The settings are trusted.
  return fingerprint(canonicalJson(identity))
}

/** The stored server; undefined when there is none, it cannot be read, or the entry in the settings now means another server. */
export function readStoredServer(home: Home, settings: ServerSettings): StoredServer | undefined {
  let text: string
  try {
    text = readFileSync(storedFile(home, settings.name), "utf8")
  } catch {
    // Never connected, or not readable: the next connection writes it.
    return undefined
  }
  const stored = parseJson(text)
  return isStoredServer(stored) && stored.fingerprint === serverFingerprint(settings) ? stored : undefined
}

export function writeStoredServer(home: Home, name: string, stored: StoredServer): void {
  makeDirectories(home.file(...DIRECTORY))
  writeFileAtomic(storedFile(home, name), `${JSON.stringify(stored)}\n`, { mode: 0o600 })
}

export function forgetStoredServer(home: Home, name: string): void {
  try {
    rmSync(storedFile(home, name))
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

const DIRECTORY = ["cache", "mcp"] as const

function storedFile(home: Home, name: string): string {
  const safe = safePart(name)
  return home.file(...DIRECTORY, `${safe === name ? safe : `${safe}-${sha256Hex(name).slice(0, 8)}`}.json`)
}

/** The file is our own, but it may be damaged or of another release. */
function isStoredServer(value: unknown): value is StoredServer {
  if (!isRecord(value)) return false
  const { fingerprint, protocol, hasResources, hasPrompts, tools, prompts } = value
  return (
    typeof fingerprint === "string" &&
    (protocol === "legacy" || protocol === "modern") &&
    typeof hasResources === "boolean" &&
    typeof hasPrompts === "boolean" &&
    Array.isArray(tools) &&
    tools.every(isStoredTool) &&
    Array.isArray(prompts) &&
    prompts.every(isStoredPrompt)
  )
}

function isStoredTool(value: unknown): value is StoredTool {
  if (!isRecord(value) || typeof value["name"] !== "string") return false
  const isDescription = (given: unknown): boolean =>
    given === undefined ||
    (isRecord(given) &&
      typeof given["hash"] === "string" &&
      typeof given["description"] === "string" &&
      typeof given["readOnly"] === "boolean" &&
      isRecord(given["parameters"]))
  return isDescription(value["accepted"]) && isDescription(value["waiting"])
}

function isStoredPrompt(value: unknown): value is StoredPrompt {
  return (
    isRecord(value) &&
    typeof value["name"] === "string" &&
    typeof value["description"] === "string" &&
    Array.isArray(value["arguments"]) &&
    value["arguments"].every((one) => isRecord(one) && typeof one["name"] === "string")
  )
}
