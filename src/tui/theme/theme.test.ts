import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, describe, expect, test } from "vitest"

import { settingOf } from "../../config/settings.ts"
import { manualClock } from "../../../test/support/manual-clock.ts"
import { askBackground, backgroundFromEnvironment, parseBackgroundReply } from "./background-color.ts"
import { basicColor, contrast, nearest16, nearest256, parseColor, type Rgb, WHITE, BLACK } from "./color.ts"
import { colorDepth, createTheme, DARK_BACKGROUND, LIGHT_BACKGROUND, themeColors } from "./create-theme.ts"
import { loadSkin, skinNames } from "./load-skin.ts"
import { loadTheme } from "./load-theme.ts"
import { BUILT_IN_SKINS, DEFAULT_SKIN } from "./skins.ts"
import { COLOR_ROLES, type ColorRole } from "./theme.ts"

const directories: string[] = []
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true })
})

function skinDirectory(files: Readonly<Record<string, string>>): string {
  const directory = mkdtempSync(join(tmpdir(), "skins-"))
  directories.push(directory)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text)
  return directory
}

function visible(text: string): string {
  return text.replaceAll("\u{1B}", "ESC")
}

describe("built-in skins", () => {
  test("the nine skins of the specification", () => {
    expect(BUILT_IN_SKINS.map(({ name }) => name)).toEqual(
      "default ares mono slate daylight warm-lightmode poseidon sisyphus charizard".split(" "),
    )
  })

  const backgrounds: readonly (readonly [string, Rgb])[] = [
    ["black", BLACK],
    ["dark", DARK_BACKGROUND],
    ["solarized dark", { red: 0, green: 43, blue: 54 }],
    ["light", LIGHT_BACKGROUND],
    ["white", WHITE],
    ["solarized light", { red: 253, green: 246, blue: 227 }],
  ]
  test.each(BUILT_IN_SKINS.map((skin) => [skin.name, skin] as const))("%s can be read on dark and light", (_, skin) => {
    for (const [background, color] of backgrounds) {
      const colors = themeColors(skin, color)
      const of = (role: ColorRole): Rgb => colors.get(role) ?? BLACK
      const weak = COLOR_ROLES.filter((role) => {
        if (role.endsWith("_bg")) return false
        const menu = role.startsWith("completion_menu_") ? of("completion_menu_bg") : color
        const below = role.startsWith("status_bar_") ? of("status_bar_bg") : menu
        return contrast(of(role), below) < (role.endsWith("_border") || role === "input_rule" ? 3 : 4.5)
      })
      expect([background, weak]).toEqual([background, []])
      expect(contrast(of("completion_menu_selected"), of("selection_bg"))).toBeGreaterThanOrEqual(4.5)
    }
  })

  test("mono has no hue", () => {
    const mono = BUILT_IN_SKINS.find(({ name }) => name === "mono") ?? DEFAULT_SKIN
    for (const { red, green, blue } of themeColors(mono, DARK_BACKGROUND).values())
      expect([red, blue]).toEqual([green, green])
  })
})

describe("styles", () => {
  const theme = createTheme(DEFAULT_SKIN, { depth: "full", background: DARK_BACKGROUND })

  test("styles can be nested", () => {
    const inner = theme.paint("ui_error", "b")
    const outer = theme.paint("ui_ok", `a${inner}c`)
    expect(outer.split("\u{1B}[").map((part) => part.replace(/^38;2.*m/, "fg:").replace("39m", "default:"))).toEqual([
      "",
      "fg:a",
      "fg:b",
      "fg:c",
      "default:",
    ])
    expect(theme.style("bold", `a${theme.style("dim", "b")}c`)).toBe(
      "\u{1B}[1ma\u{1B}[2mb\u{1B}[22m\u{1B}[1mc\u{1B}[22m",
    )
    expect(visible(theme.paint("selection_bg", "x"))).toMatch(/^ESC\[48;2;\d+;\d+;\d+mxESC\[49m$/)
  })

  test("without colours there is no SGR at all", () => {
    const plain = createTheme(DEFAULT_SKIN, { depth: "none", background: DARK_BACKGROUND })
    expect([plain.color, plain.paint("ui_error", "x"), plain.style("bold", "y")]).toEqual([false, "x", "y"])
  })

  test("fewer colours", () => {
    const of = (depth: "256" | "16", background: Rgb): string =>
      visible(createTheme(DEFAULT_SKIN, { depth, background }).paint("ui_error", "x"))
    expect(of("256", DARK_BACKGROUND)).toMatch(/^ESC\[38;5;\d+mx/)
    expect(of("16", DARK_BACKGROUND)).toMatch(/^ESC\[(?:3|9)\dmx/)
    expect(contrast(basicColor(nearest16({ red: 255, green: 255, blue: 0 }, [WHITE])), WHITE)).toBeGreaterThanOrEqual(3)
    expect([nearest256(BLACK), nearest256(WHITE), nearest256({ red: 255, green: 0, blue: 0 })]).toEqual([16, 231, 196])
  })

  test.each([
    [{ COLORTERM: "truecolor", TERM: "xterm" }, "full"],
    [{ TERM: "xterm-kitty" }, "full"],
    [{ TERM: "xterm-256color" }, "256"],
    [{ TERM: "linux" }, "16"],
    [{ TERM: "dumb", COLORTERM: "truecolor" }, "none"],
    [{ TERM: "xterm-256color", NO_COLOR: "1" }, "none"],
  ])("%j has the depth %s", (variables: Readonly<Record<string, string>>, depth) => {
    expect(colorDepth((name) => variables[name])).toBe(depth)
  })
})

describe("skins of the home", () => {
  test("missing values come from the default, hostile text is plain", async () => {
    const directory = skinDirectory({
      "mine.yaml": [
        "description: my own",
        "colors: {ui_error: '#f0a', prompt: bright red, ui_ok: blurple}",
        "spinner: {thinking_verbs: [\"a\\x1b[2Jb\", 7], wings: [['<', '>'], ['x']]}",
        'branding: {agent_name: "two\\nlines"}',
        "tool_emojis: {terminal: '$'}",
      ].join("\n"),
    })
    const { skin, problem } = await loadSkin("mine", directory)
    expect(problem).toMatch(/ui_ok/)
    expect([skin.colors.ui_error, skin.colors.prompt, skin.colors.ui_ok]).toEqual([
      "#f0a",
      "bright red",
      DEFAULT_SKIN.colors.ui_ok,
    ])
    expect([skin.spinner.thinkingVerbs, skin.spinner.wings, skin.spinner.waitingFaces]).toEqual([
      ["ab"],
      [["<", ">"]],
      DEFAULT_SKIN.spinner.waitingFaces,
    ])
    expect([skin.branding.agentName, skin.toolEmojis]).toEqual(["two lines", { terminal: "$" }])
    expect(skinNames(directory).at(-1)).toEqual({ name: "mine", description: "skin of this home" })
  })

  test("an unknown, broken or unsafe skin is the default with one message", async () => {
    const directory = skinDirectory({ "broken.yaml": "colors: [" })
    for (const [name, reason] of [
      ["nothing", /no skin called "nothing"/],
      ["../../etc/passwd", /no skin called/],
      ["a\u{1B}[2Jb", /called "ab"/],
      ["broken", /not valid YAML \(line 1/],
    ] as const) {
      const { skin, problem } = await loadSkin(name, directory)
      expect([skin.name, problem]).toEqual(["default", expect.stringMatching(reason)])
    }
    expect(await loadSkin("ares", directory)).toEqual({ skin: BUILT_IN_SKINS[1] })
    expect((await loadSkin("ares", join(directory, "missing"))).problem).toBeUndefined()
  })
})

test("the settings and the terminal decide about the theme", async () => {
  const load = async (skin: string, variables: Readonly<Record<string, string>>) =>
    await loadTheme({
      config: {
        get: (key) => settingOf(key).read(key === "display.skin" ? skin : undefined) ?? settingOf(key).default,
      },
      directory: skinDirectory({}),
      variable: (name) => variables[name],
    })
  const dark = await load("slate", { TERM: "xterm-256color" })
  expect([dark.theme.name, dark.theme.background, dark.backgroundIsGuessed]).toEqual(["slate", "dark", true])
  expect(dark.on(WHITE).background).toBe("light")
  const light = await load("none", { TERM: "xterm-256color", HERMES_TUI_THEME: "light" })
  expect([light.theme.name, light.theme.background, light.backgroundIsGuessed]).toEqual(["default", "light", false])
  expect(light.problem).toMatch(/no skin called "none"/)
  expect(await load("mono", { NO_COLOR: "1" })).toMatchObject({ backgroundIsGuessed: false, theme: { color: false } })
})

describe("the background", () => {
  test.each([
    [{ HERMES_TUI_THEME: "light", COLORFGBG: "15;0" }, LIGHT_BACKGROUND],
    [{ HERMES_TUI_THEME: "dark" }, DARK_BACKGROUND],
    [{ HERMES_TUI_THEME: "#fdf6e3" }, parseColor("#fdf6e3")],
    [{ COLORFGBG: "0;15" }, WHITE],
    [{ COLORFGBG: "15;default;0" }, undefined],
    [{ COLORFGBG: "15;7;0" }, BLACK],
    [{ HERMES_TUI_THEME: "nonsense" }, undefined],
    [{}, undefined],
  ])("%j", (variables: Readonly<Record<string, string>>, expected) => {
    expect(backgroundFromEnvironment((name) => variables[name])).toEqual(expected)
  })

  test.each([
    ["11;rgb:ffff/ffff/ffff", WHITE],
    ["11;rgb:00/80/ff", { red: 0, green: 128, blue: 255 }],
    ["11;rgba:0000/0000/0000/ffff", BLACK],
    ["11;#ffffff", WHITE],
    ["10;rgb:ffff/ffff/ffff", undefined],
    ["11;rgb:zz/0/0", undefined],
  ])("the reply %s", (payload, expected) => {
    expect(parseBackgroundReply(payload)).toEqual(expected)
  })

  test("the terminal has 100 ms to answer", async () => {
    const clock = manualClock()
    const { signal } = new AbortController()
    let reply: ((payload: string) => void) | undefined
    const sent: string[] = []
    const screen = {
      control: (sequence: string) => void sent.push(sequence),
      onReply: (listener: (payload: string) => void) => {
        reply = listener
      },
    }
    const answered = askBackground(screen, { clock, signal })
    reply?.("4;ignored")
    reply?.("11;rgb:ffff/ffff/ffff")
    expect([await answered, sent]).toEqual([WHITE, ["\u{1B}]11;?\u{1B}\\"]])
    const silent = askBackground(screen, { clock, signal })
    await clock.advance(101)
    expect(await silent).toBeUndefined()
  })
})
