// Writes the pictures and the recording in docs/images/, from runs of the built command in a pseudo-terminal with a temporary home.
// Run `npm run build` first, then `node scripts/screenshot.ts`, with names such as `approval` for only some of them.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

import { DEFAULT_SIZE, IDLE, PICTURES } from "./screenshots/pictures.ts"
import type { Picture } from "./screenshots/pictures.ts"
import { RECORDING_NAME, recordingSvg } from "./screenshots/recording.ts"
import { openStage } from "./screenshots/stage.ts"
import { svgPicture } from "./screenshots/svg-picture.ts"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const IMAGES = join(root, "docs", "images")

async function main(names: readonly string[]): Promise<void> {
  mkdirSync(IMAGES, { recursive: true })
  const isWanted = (name: string): boolean => names.length === 0 || names.includes(name)
  for (const picture of PICTURES.filter(({ name }) => isWanted(name))) write(picture.name, await take(picture))
  if (isWanted(RECORDING_NAME)) write(RECORDING_NAME, await recordingSvg())
}

async function take({ name: _name, title, play, startsInShell = false, ...options }: Picture): Promise<string> {
  const settings = { ...DEFAULT_SIZE, ...options, startsInShell }
  await using stage = await openStage(settings)
  if (!startsInShell) await stage.waitFor(IDLE)
  if (!startsInShell) await stage.waitFor("What shall we work on?")
  await play(stage)
  return svgPicture(await stage.picture(), { columns: settings.columns, palette: settings.palette, title })
}

function write(name: string, image: string): void {
  const file = join(IMAGES, `${name}.svg`)
  const before = readIfExists(file)
  writeFileSync(file, image)
  console.log(`docs/images/${name}.svg ${before === image ? "is unchanged" : "was written"} (${image.length} bytes)`)
}

function readIfExists(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8")
  } catch {
    // The image does not exist yet.
    return undefined
  }
}

if (import.meta.main) await main(process.argv.slice(2))
