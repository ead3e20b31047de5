// Writes docs/images/demo.svg: a conversation with the demo model, recorded from the built command in a pseudo-terminal and a
// temporary home. Run `npm run build` first, then `node scripts/screenshot.ts`.
import { mkdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from "node:fs"
import { delimiter, dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

import xterm from "@xterm/headless"
import type { IBufferCell } from "@xterm/headless"

import { temporaryHome } from "../test/support/temporary-home.ts"
import { openTerminal } from "../test/support/virtual-terminal.ts"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const IMAGE_FILE = join(root, "docs", "images", "demo.svg")
const COLUMNS = 100
const ROWS = 60
const SHELL_PROMPT = "~/garden $ "

/** What the user types, and how the screen ends when Hermes waits for the next line. */
const CONVERSATION: readonly (readonly [type: string, until: RegExp])[] = [
  ["hermes", /\(Enter\)\?\s*$/],
  ["", /Hermes ·[^]*\nyou> $/],
  ["list the files here", /I found 3 files[^]*\nyou> $/],
  ["write a note called friday.md saying water the tomatoes", /I wrote 19 bytes[^]*\nyou> $/],
  ["remember that I grow tomatoes", /a new session will see it[^]*\nyou> $/],
  ["delete friday.md", /ended with exit code 0[^]*\nyou> $/],
  ["/rollback 1", /To undo this[^]*\nyou> $/],
]

const PROJECT = {
  "README.md": "# Garden\n\nWhat grows where.\n",
  "beds.csv": "bed,plant\n1,tomatoes\n2,beans\n",
  "notes/spring.md": "Sow beans in May.\n",
}

async function main(): Promise<void> {
  const image = renderSvg(await renderScreen(await record()))
  mkdirSync(dirname(IMAGE_FILE), { recursive: true })
  const before = readIfExists(IMAGE_FILE)
  writeFileSync(IMAGE_FILE, image)
  console.log(`docs/images/demo.svg ${before === image ? "is unchanged" : "was written"}`)
}

/** Records the terminal output, with the temporary directory replaced by `~/garden`. */
async function record(): Promise<string> {
  await using home = await temporaryHome({ workFiles: PROJECT })
  // Files are listed newest first, so they need different times.
  for (const [age, name] of Object.keys(PROJECT).entries())
    utimesSync(join(home.workdir, name), 1_700_000_000 - age, 1_700_000_000 - age)
  const bin = join(home.userHome, "bin")
  mkdirSync(bin)
  symlinkSync(join(root, "dist", "hermes.js"), join(bin, "hermes"))
  await using terminal = await openTerminal({
    command: "/bin/sh",
    columns: COLUMNS,
    rows: ROWS,
    cwd: home.workdir,
    env: { ...home.env, PATH: `${bin}${delimiter}${home.env["PATH"]}`, PS1: SHELL_PROMPT },
  })
  await terminal.waitFor(SHELL_PROMPT)
  for (const [text, until] of CONVERSATION) {
    terminal.type(text)
    terminal.press("enter")
    await terminal.waitFor(until)
  }
  return terminal.output.replaceAll(home.workdir, "~/garden")
}

type Screen = readonly (readonly Run[])[]

/** Adjacent cells with the same style. */
interface Run {
  readonly column: number
  /** In cells. Some characters occupy two. */
  readonly width: number
  readonly text: string
  readonly style: Style
}

interface Style {
  readonly color: string
  readonly bold: boolean
  readonly dim: boolean
}

async function renderScreen(output: string): Promise<Screen> {
  const terminal = new xterm.Terminal({ cols: COLUMNS, rows: ROWS, scrollback: 0, allowProposedApi: true })
  await new Promise<void>((done) => {
    terminal.write(output, done)
  })
  const lines = Array.from({ length: ROWS }, (_, row) => runsOf(terminal, row))
  terminal.dispose()
  return lines.slice(0, lines.findLastIndex((runs) => runs.some(({ text }) => text.trim() !== "")) + 1)
}

function runsOf(terminal: InstanceType<typeof xterm.Terminal>, row: number): readonly Run[] {
  const line = terminal.buffer.active.getLine(row)
  const runs: Run[] = []
  for (let column = 0; column < COLUMNS; column += 1) {
    const cell = line?.getCell(column)
    if (cell === undefined || cell.getWidth() === 0) continue
    const text = cell.getChars() === "" ? " " : cell.getChars()
    const style = styleOf(cell)
    const width = cell.getWidth()
    const last = runs.at(-1)
    if (last === undefined || !isSameStyle(last.style, style)) runs.push({ column, width, text, style })
    else runs[runs.length - 1] = { ...last, width: last.width + width, text: last.text + text }
  }
  return runs
}

function styleOf(cell: IBufferCell): Style {
  return { color: colorOf(cell), bold: cell.isBold() !== 0, dim: cell.isDim() !== 0 }
}

function isSameStyle(a: Style, b: Style): boolean {
  return a.color === b.color && a.bold === b.bold && a.dim === b.dim
}

const FOREGROUND = "#d8dee9"
const BACKGROUND = "#1b1f27"
const FRAME = "#2b313d"
const PALETTE = [
  "#3b4252",
  "#e06c75",
  "#98c379",
  "#e5c07b",
  "#61afef",
  "#c678dd",
  "#56b6c2",
  "#d8dee9",
  "#5c6370",
  "#ef8a92",
  "#b2d996",
  "#f0d197",
  "#85c3f5",
  "#d79be8",
  "#7fccd6",
  "#ffffff",
]

function colorOf(cell: IBufferCell): string {
  const color = cell.getFgColor()
  if (cell.isFgRGB()) return `#${color.toString(16).padStart(6, "0")}`
  return cell.isFgPalette() ? (PALETTE[color] ?? FOREGROUND) : FOREGROUND
}

const CELL_WIDTH = 8.4
const LINE_HEIGHT = 19
const FONT_SIZE = 14
const TITLE_BAR = 34
const MARGIN = 18

function renderSvg(screen: Screen): string {
  const width = Math.round(COLUMNS * CELL_WIDTH + 2 * MARGIN)
  const height = TITLE_BAR + MARGIN + screen.length * LINE_HEIGHT + MARGIN
  const dots = ["#e06c75", "#e5c07b", "#98c379"].map(
    (color, index) => `<circle cx="${MARGIN + 4 + index * 20}" cy="${TITLE_BAR / 2}" r="6" fill="${color}"/>`,
  )
  const text = screen.flatMap((runs, row) =>
    runs.filter((run) => run.text.trim() !== "").map((run) => textElement(run, row)),
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    "<title>A conversation with Hermes in a terminal</title>",
    `<rect width="${width}" height="${height}" rx="10" fill="${BACKGROUND}"/>`,
    `<path d="M0 ${TITLE_BAR}V10a10 10 0 0 1 10-10H${width - 10}a10 10 0 0 1 10 10V${TITLE_BAR}z" fill="${FRAME}"/>`,
    ...dots,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${FONT_SIZE}" xml:space="preserve">`,
    ...text,
    "</g>",
    "</svg>",
    "",
  ].join("\n")
}

/** `textLength` keeps the columns aligned with any monospace font. */
function textElement({ column, width, text, style }: Run, row: number): string {
  const shown = text.trimEnd()
  const cells = width - (text.length - shown.length)
  const x = (MARGIN + column * CELL_WIDTH).toFixed(1)
  const y = TITLE_BAR + MARGIN + row * LINE_HEIGHT + FONT_SIZE
  const attributes = [
    `fill="${style.color}"`,
    style.dim ? 'fill-opacity="0.6"' : "",
    style.bold ? 'font-weight="bold"' : "",
    `textLength="${(cells * CELL_WIDTH).toFixed(1)}"`,
  ].filter((part) => part !== "")
  return `<text x="${x}" y="${y}" ${attributes.join(" ")}>${escapeXml(shown)}</text>`
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
}

function readIfExists(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8")
  } catch {
    // The image does not exist yet.
    return undefined
  }
}

if (import.meta.main) await main()
