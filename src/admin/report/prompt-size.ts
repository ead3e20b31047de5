import type { Origin } from "../../agent/origin.ts"
import { PLATFORM_HINTS } from "../../agent/prompt/platform-hints.ts"
import { startApp } from "../../app/start.ts"
import type { HomeContext } from "../home-context.ts"

export interface LayerSize {
  readonly layer: string
  readonly bytes: number
  readonly tokens: number
  /** Shortened to fit `prompt_budget`. */
  readonly reduced?: true
}

export interface PromptSize {
  readonly layers: readonly LayerSize[]
  readonly total: { readonly bytes: number; readonly tokens: number }
}

/** The platforms that have a prompt of their own. */
export function promptPlatforms(): readonly string[] {
  return Object.keys(PLATFORM_HINTS)
}

/** Measures what a new session sends before the first message. Needs no network and no key. */
export async function measurePrompt(
  { home, environment }: HomeContext,
  options: { readonly version: string; readonly directory: string; readonly origin: Origin },
): Promise<PromptSize> {
  const { app } = await startApp({ home, environment, version: options.version })
  const chosen = app.chooseModel({})
  // The demo model stands for a model that is not usable yet: only its name and its context window enter the prompt.
  const model = chosen.ok ? chosen : app.chooseModel({ provider: "demo" })
  if (!model.ok) throw new Error(model.error.message)
  const { layers, tools } = await app.previewPrompt({
    cwd: options.directory,
    origin: options.origin,
    model: model.value,
  })
  await app.close()
  const sizes = [
    ...layers.map(({ name, text, reduced }) => ({
      layer: name,
      ...sizeOf(text),
      ...(reduced === undefined ? {} : { reduced }),
    })),
    { layer: `tool schemas (${tools.length})`, ...sizeOf(JSON.stringify(tools)) },
  ]
  return {
    layers: sizes,
    total: {
      bytes: sizes.reduce((sum, { bytes }) => sum + bytes, 0),
      tokens: sizes.reduce((sum, { tokens }) => sum + tokens, 0),
    },
  }
}

/** Mixed English text and JSON have about four characters per token. */
function sizeOf(text: string): { readonly bytes: number; readonly tokens: number } {
  return { bytes: Buffer.byteLength(text), tokens: Math.ceil(text.length / 4) }
}
