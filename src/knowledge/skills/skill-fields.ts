import { isRecord } from "../../base/json.ts"
import { takeCodePoints } from "../../base/text.ts"
import { MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS, type Skill } from "./skill.ts"

type Fields = Readonly<Record<string, unknown>>

/** The part of an index entry that the front matter states. */
export function indexFields(
  fields: Fields,
  directoryName: string,
): Pick<
  Skill,
  | "name"
  | "description"
  | "platforms"
  | "environments"
  | "requiresToolsets"
  | "requiresTools"
  | "fallbackForToolsets"
  | "fallbackForTools"
> {
  const hermes = hermesMetadata(fields)
  const name = oneLine(fields["name"])
  return {
    name: takeCodePoints(name === "" ? directoryName : name, MAX_NAME_CHARS),
    description: takeCodePoints(oneLine(fields["description"]), MAX_DESCRIPTION_CHARS),
    platforms: texts(fields["platforms"]),
    environments: texts(fields["environments"]),
    requiresToolsets: texts(hermes["requires_toolsets"]),
    requiresTools: texts(hermes["requires_tools"]),
    fallbackForToolsets: texts(hermes["fallback_for_toolsets"]),
    fallbackForTools: texts(hermes["fallback_for_tools"]),
  }
}

/** What a skill needs besides its text. */
export interface SkillNeeds {
  readonly variables: readonly NeededVariable[]
  readonly commands: readonly string[]
  /** Paths relative to the home of Hermes. */
  readonly credentialFiles: readonly { readonly path: string; readonly description: string }[]
  readonly setupHelp: string
}

export interface NeededVariable {
  readonly name: string
  readonly prompt: string
  readonly help: string
  readonly requiredFor: string
  readonly optional: boolean
}

const VARIABLE_NAME = /^[A-Za-z_]\w{0,127}$/u
const MAX_NEEDS = 50

/** Accepts the three forms in which skills declare their variables. */
export function skillNeeds(fields: Fields): SkillNeeds {
  const prerequisites = record(fields["prerequisites"])
  const setup = record(fields["setup"])
  const declared: readonly NeededVariable[] = [
    ...records(fields["required_environment_variables"]).map((entry) => ({
      name: oneLine(entry["name"]),
      prompt: oneLine(entry["prompt"]),
      help: oneLine(entry["help"]),
      requiredFor: oneLine(entry["required_for"]),
      optional: entry["optional"] === true,
    })),
    ...records(setup["collect_secrets"]).map((entry) => ({
      name: oneLine(entry["env_var"]),
      prompt: oneLine(entry["prompt"]),
      help: oneLine(entry["provider_url"]),
      requiredFor: "",
      optional: false,
    })),
    ...texts(prerequisites["env_vars"]).map((name) => ({
      name,
      prompt: "",
      help: "",
      requiredFor: "",
      optional: false,
    })),
  ]
  const byName = new Map<string, NeededVariable>()
  for (const variable of declared) {
    if (VARIABLE_NAME.test(variable.name) && !byName.has(variable.name)) byName.set(variable.name, variable)
  }
  return {
    variables: [...byName.values()].slice(0, MAX_NEEDS),
    commands: texts(prerequisites["commands"]).slice(0, MAX_NEEDS),
    credentialFiles: entriesOf(fields["required_credential_files"])
      .map((entry) => (isRecord(entry) ? entry : { path: entry }))
      .map((entry) => ({ path: oneLine(entry["path"]), description: oneLine(entry["description"]) }))
      .filter(({ path }) => path !== "")
      .slice(0, MAX_NEEDS),
    setupHelp: oneLine(setup["help"]),
  }
}

/** A setting that a skill declares; its value is `skills.config.<key>`. */
export interface SkillSetting {
  readonly key: string
  readonly description: string
  readonly default: string
}

export function skillSettings(fields: Fields): readonly SkillSetting[] {
  return records(hermesMetadata(fields)["config"])
    .map((entry) => ({
      key: oneLine(entry["key"]),
      description: oneLine(entry["description"]),
      default: valueText(entry["default"]),
    }))
    .filter(({ key }) => key !== "")
    .slice(0, MAX_NEEDS)
}

export function skillTags(fields: Fields): { readonly tags: readonly string[]; readonly related: readonly string[] } {
  const hermes = hermesMetadata(fields)
  const tags = texts(hermes["tags"])
  return { tags: tags.length === 0 ? texts(fields["tags"]) : tags, related: texts(hermes["related_skills"]) }
}

/** A scalar as text; lists and mappings as JSON. */
export function valueText(value: unknown): string {
  if (value === undefined || value === null) return ""
  return typeof value === "string" ? value : JSON.stringify(value)
}

function hermesMetadata(fields: Fields): Fields {
  return record(record(fields["metadata"])["hermes"])
}

function record(value: unknown): Fields {
  return isRecord(value) ? value : {}
}

function records(value: unknown): readonly Fields[] {
  return entriesOf(value).filter(isRecord)
}

function entriesOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** A list of names, also when it is written as one text with commas. */
function texts(value: unknown): readonly string[] {
  const entries = typeof value === "string" ? value.replaceAll(/^\[|\]$/gu, "").split(",") : entriesOf(value)
  return entries.flatMap((entry) => (typeof entry === "string" && entry.trim() !== "" ? [oneLine(entry)] : []))
}

function oneLine(value: unknown): string {
  if (typeof value !== "string" && typeof value !== "number") return ""
  return String(value)
    .replaceAll(/[\s\p{Cc}]+/gu, " ")
    .trim()
}
