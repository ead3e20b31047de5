import { readFileSync } from "node:fs"
import { join } from "node:path"

import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { explainSystemError, isNotFound } from "../../base/system-error.ts"
import type { Environment } from "../../config/environment.ts"

export interface AwsProfileContext {
  readonly environment: Environment
  readonly userHome: string
}

/** `explicit` is false for the profile `default`, which need not exist. */
export function selectedProfile(environment: Environment): { readonly name: string; readonly explicit: boolean } {
  const name = environment.get("AWS_PROFILE")?.trim() ?? ""
  return name === "" ? { name: "default", explicit: false } : { name, explicit: true }
}

/** Reads a profile from both files; `credentials` overrides `config`. Undefined when neither file has it. */
export function readProfile(context: AwsProfileContext, name: string): Result<ReadonlyMap<string, string> | undefined> {
  const config = readSections(pathOf(context, "AWS_CONFIG_FILE", "config"))
  if (!config.ok) return config
  const credentials = readSections(pathOf(context, "AWS_SHARED_CREDENTIALS_FILE", "credentials"))
  if (!credentials.ok) return credentials
  // The config file uses `[profile x]`, except for the default profile.
  const general = config.value.get(`profile ${name}`) ?? (name === "default" ? config.value.get(name) : undefined)
  const secret = credentials.value.get(name)
  if (general === undefined && secret === undefined) return ok(undefined)
  return ok(new Map([...(general ?? []), ...(secret ?? [])]))
}

/** Reads the fields of `[sso-session NAME]`; undefined when there is none. */
export function readSsoSession(
  context: AwsProfileContext,
  name: string,
): Result<ReadonlyMap<string, string> | undefined> {
  const config = readSections(pathOf(context, "AWS_CONFIG_FILE", "config"))
  return config.ok ? ok(config.value.get(`sso-session ${name}`)) : config
}

function pathOf(context: AwsProfileContext, variable: string, file: string): string {
  const configured = context.environment.get(variable)?.trim() ?? ""
  if (configured === "") return join(context.userHome, ".aws", file)
  return configured.startsWith("~/") ? join(context.userHome, configured.slice(2)) : configured
}

type Sections = ReadonlyMap<string, ReadonlyMap<string, string>>

function readSections(path: string): Result<Sections> {
  try {
    return ok(parseSections(readFileSync(path, "utf8")))
  } catch (error) {
    if (isNotFound(error)) return ok(new Map())
    return fail(`the AWS file ${path} cannot be read: ${explainSystemError(error)}`)
  }
}

/** Parses the INI dialect of the AWS tools. Indented lines belong to nested fields, which are not needed. */
function parseSections(text: string): Sections {
  const sections = new Map<string, Map<string, string>>()
  let current: Map<string, string> | undefined
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*([#;]|$)/.test(line)) continue
    const heading = /^\s*\[([^\]]*)\]/.exec(line)?.[1]
    if (heading !== undefined) {
      const name = heading.trim().replaceAll(/\s+/g, " ").replaceAll(/["']/g, "")
      current = sections.get(name) ?? new Map<string, string>()
      sections.set(name, current)
      continue
    }
    const field = /^(\S[^=]*?)\s*=\s*(.*)$/.exec(line)
    const value = (field?.[2] ?? "").replace(/\s[#;].*$/, "").trim()
    if (field !== null && value !== "") current?.set((field[1] ?? "").toLowerCase(), value)
  }
  return sections
}
