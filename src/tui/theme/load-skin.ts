import { readdirSync } from "node:fs"
import { join } from "node:path"
import { isRecord } from "../../base/json.ts"
import { readRegularFile } from "../../base/regular-file.ts"
import { errorMessage, explainSystemError, isNotFound } from "../../base/system-error.ts"
import { plainText } from "../../terminal/printable-text.ts"
import { oneLine } from "../../terminal/text-layout.ts"
import { takeColumns } from "../../terminal/text-width.ts"
import { parseColor } from "./color.ts"
import type { Skin } from "./skin.ts"
import { BUILT_IN_SKINS, DEFAULT_SKIN } from "./skins.ts"
import { COLOR_ROLES } from "./theme.ts"

export interface LoadedSkin {
  readonly skin: Skin
  /** A sentence for the user when the skin, or a part of it, cannot be used. */
  readonly problem?: string
}

/** Loads `skins/<name>.yaml` of the home, or a built-in skin. What the file does not define comes from the default skin. */
export async function loadSkin(name: string, directory: string): Promise<LoadedSkin> {
  const wanted = name.trim()
  const builtIn = BUILT_IN_SKINS.find((skin) => skin.name === wanted)
  // The name becomes a file name.
  if (!FILE_NAME.test(wanted)) return unknownSkin(wanted)
  const path = join(directory, `${wanted}.yaml`)
  let text: string
  try {
    text = readRegularFile(path, { maxBytes: MAX_BYTES }).bytes.toString("utf8")
  } catch (error) {
    if (isNotFound(error)) return builtIn === undefined ? unknownSkin(wanted) : { skin: builtIn }
    return {
      skin: DEFAULT_SKIN,
      problem: `The skin ${path} cannot be read: ${explainSystemError(error)}. The default skin is used.`,
    }
  }
  const { parseYaml } = await import("../../config/document/yaml-document.ts")
  const parsed = parseYaml(text)
  if (parsed.ok) return readSkin(parsed.value.tree, wanted, path)
  const { message, line } = parsed.error
  return {
    skin: DEFAULT_SKIN,
    problem: `The skin ${path} is not valid YAML (line ${line}: ${message}). The default skin is used.`,
  }
}

/** The names and descriptions of all skins: built-in ones, then those of the home. */
export function skinNames(directory: string): readonly { readonly name: string; readonly description: string }[] {
  const builtIn = BUILT_IN_SKINS.map(({ name, description }) => ({ name, description }))
  const known = new Set(builtIn.map(({ name }) => name))
  return [
    ...builtIn,
    ...fileNames(directory)
      .flatMap((file) => /^(.*)\.yaml$/.exec(file)?.[1] ?? [])
      .filter((name) => FILE_NAME.test(name) && !known.has(name))
      .map((name) => ({ name, description: "skin of this home" })),
  ]
}

function fileNames(directory: string): readonly string[] {
  try {
    return readdirSync(directory).sort()
  } catch (error) {
    if (isNotFound(error)) return []
    throw new Error(`cannot list ${directory}: ${errorMessage(error)}`, { cause: error })
  }
}

function unknownSkin(name: string): LoadedSkin {
  const names = BUILT_IN_SKINS.map((skin) => skin.name).join(", ")
  return {
    skin: DEFAULT_SKIN,
    problem: `There is no skin called "${takeColumns(oneLine(name), 40)}", so the default skin is used. Built-in skins: ${names}.`,
  }
}

function readSkin(tree: Readonly<Record<string, unknown>>, name: string, path: string): LoadedSkin {
  const colors = section(tree, "colors")
  const spinner = section(tree, "spinner")
  const branding = section(tree, "branding")
  const wrong = COLOR_ROLES.filter((role) => {
    const value = colors[role]
    return value !== undefined && (typeof value !== "string" || parseColor(value) === undefined)
  })
  const base = DEFAULT_SKIN
  const skin: Skin = {
    name,
    description: word(tree, "description", ""),
    colors: {
      ...base.colors,
      ...Object.fromEntries(
        COLOR_ROLES.flatMap((role) => {
          const value = colors[role]
          return typeof value === "string" && !wrong.includes(role) ? [[role, value]] : []
        }),
      ),
    },
    spinner: {
      frames: words(spinner["frames"], base.spinner.frames),
      waitingFaces: words(spinner["waiting_faces"], base.spinner.waitingFaces),
      thinkingFaces: words(spinner["thinking_faces"], base.spinner.thinkingFaces),
      thinkingVerbs: words(spinner["thinking_verbs"], base.spinner.thinkingVerbs),
      wings: wingsOf(spinner["wings"]),
    },
    branding: {
      agentName: word(branding, "agent_name", base.branding.agentName),
      welcome: word(branding, "welcome", base.branding.welcome),
      goodbye: word(branding, "goodbye", base.branding.goodbye),
      responseLabel: word(branding, "response_label", base.branding.responseLabel),
      promptSymbol: word(branding, "prompt_symbol", base.branding.promptSymbol),
      helpHeader: word(branding, "help_header", base.branding.helpHeader),
    },
    toolPrefix: word(tree, "tool_prefix", base.toolPrefix),
    toolEmojis: Object.fromEntries(
      Object.keys(section(tree, "tool_emojis")).map((tool) => [tool, word(section(tree, "tool_emojis"), tool, "")]),
    ),
    bannerLogo: picture(tree["banner_logo"]),
    bannerHero: picture(tree["banner_hero"]),
  }
  if (wrong.length === 0) return { skin }
  return {
    skin,
    problem: `The skin ${path} has values that are not colours: ${wrong.join(", ")}. Write #rrggbb or a name such as red; the default skin's colours are used for them.`,
  }
}

function section(tree: Readonly<Record<string, unknown>>, key: string): Readonly<Record<string, unknown>> {
  const value = tree[key]
  return isRecord(value) ? value : {}
}

function word(tree: Readonly<Record<string, unknown>>, key: string, fallback: string): string {
  const value = tree[key]
  if (typeof value !== "string") return fallback
  return takeColumns(oneLine(value), MAX_WORD_COLUMNS) || fallback
}

function words(value: unknown, fallback: readonly string[]): readonly string[] {
  if (!Array.isArray(value)) return fallback
  const read = value.flatMap((entry: unknown) => (typeof entry === "string" ? [word({ entry }, "entry", "")] : []))
  const kept = read.filter((entry) => entry !== "").slice(0, MAX_WORDS)
  return kept.length === 0 ? fallback : kept
}

function wingsOf(value: unknown): Skin["spinner"]["wings"] {
  if (!Array.isArray(value)) return []
  return value.slice(0, MAX_WORDS).flatMap((pair: unknown) => {
    const [left, right] = words(pair, [])
    return left === undefined || right === undefined ? [] : [[left, right] as const]
  })
}

function picture(value: unknown): string {
  return typeof value === "string" ? plainText(value).slice(0, MAX_PICTURE_CHARS) : ""
}

const FILE_NAME = /^[\p{L}\p{N}][\p{L}\p{N}_.-]{0,63}$/u
const MAX_BYTES = 1_000_000
const MAX_WORDS = 100
const MAX_WORD_COLUMNS = 80
const MAX_PICTURE_CHARS = 20_000
