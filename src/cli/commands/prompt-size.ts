import { startApp } from "../../app/start.ts"
import type { Invocation } from "../command.ts"
import { VERSION } from "../version.ts"

/** What a new session sends before anybody has said a word: offline, no key needed. */
export async function run({ terminal, flags, home, environment }: Invocation): Promise<number> {
  const { app } = await startApp({ home, environment, version: VERSION })
  const chosen = app.chooseModel({})
  const { layers, tools } = await app.previewPrompt({
    cwd: process.cwd(),
    platform: flags.text("platform") ?? "cli",
    runtime: chosen.ok ? chosen.value.runtime : { provider: "", model: "", contextLength: 0 },
  })
  const rows = [
    ...layers.map(({ name, text, reduced }) => ({
      layer: name,
      ...sizeOf(text),
      ...(reduced === undefined ? {} : { reduced }),
    })),
    { layer: `tool schemas (${tools.length})`, ...sizeOf(JSON.stringify(tools)) },
  ]
  const total = {
    layer: "total",
    bytes: rows.reduce((sum, row) => sum + row.bytes, 0),
    tokens: rows.reduce((sum, row) => sum + row.tokens, 0),
  }
  await app.close()
  if (flags.has("json")) {
    terminal.line(JSON.stringify({ layers: rows, total: { bytes: total.bytes, tokens: total.tokens } }))
    return 0
  }
  const width = Math.max(...rows.map(({ layer }) => layer.length))
  for (const row of [...rows, total]) {
    const size = `${String(row.bytes).padStart(7)} bytes  ~${String(row.tokens).padStart(6)} tokens`
    terminal.line(`${row.layer.padEnd(width)}  ${size}${"reduced" in row ? "  (reduced to fit prompt_budget)" : ""}`)
  }
  return 0
}

/** Four characters to a token is what mixed English text and JSON come to. */
function sizeOf(text: string): { readonly bytes: number; readonly tokens: number } {
  return { bytes: Buffer.byteLength(text), tokens: Math.ceil(text.length / 4) }
}
