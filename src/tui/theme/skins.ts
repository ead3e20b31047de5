import type { Skin } from "./skin.ts"
import type { ColorRole } from "./theme.ts"

/** The skin that completes all others. */
export const DEFAULT_SKIN: Skin = {
  name: "default",
  description: "Gold on dark, calm",
  colors: colorsOf({
    accent: "#e0b341",
    title: "#f4d98b",
    text: "#d8d4c8",
    dim: "#98917f",
    border: "#8a7440",
    good: "#86c06c",
    warn: "#e5a94f",
    bad: "#e87f6b",
    critical: "#ff6b6b",
    bar: "#26241d",
    selection: "#3a3424",
  }),
  spinner: {
    frames: ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
    waitingFaces: ["(◔_◔)", "(•‿•)", "(・_・)", "(¬‿¬)"],
    thinkingFaces: ["(ᵔ.ᵔ)", "(◉_◉)", "(⌐■_■)", "(˘⌣˘)"],
    thinkingVerbs: ["pondering", "working it out", "reading", "weighing", "connecting", "sketching", "checking"],
    wings: [],
  },
  branding: {
    agentName: "Hermes",
    welcome: "What shall we work on? /help lists the commands.",
    goodbye: "Until next time.",
    responseLabel: "Hermes",
    promptSymbol: "❯",
    helpHeader: "Commands",
  },
  toolPrefix: "┊",
  toolEmojis: {},
  bannerLogo: "",
  bannerHero: "",
}

export const BUILT_IN_SKINS: readonly Skin[] = [
  DEFAULT_SKIN,
  skin("ares", {
    description: "Crimson and bronze",
    palette: {
      accent: "#e0604c",
      title: "#f2a07c",
      text: "#e2d3cb",
      dim: "#a08a80",
      border: "#9a4a3c",
      good: "#a9b665",
      warn: "#e0a458",
      bad: "#f07c6a",
      critical: "#ff5f5f",
      bar: "#2a1a18",
      selection: "#43241f",
    },
    verbs: ["planning the campaign", "scouting", "taking the hill", "holding the line", "sharpening"],
    faces: ["(ง'̀-'́)ง", "(⚔_⚔)", "(`ー´)"],
    wings: [["⟪", "⟫"]],
    agentName: "Ares",
    welcome: "Name the target. /help lists the commands.",
    goodbye: "The field is ours.",
    promptSymbol: "⚔",
  }),
  skin("mono", {
    description: "Greys only",
    palette: {
      accent: "#e6e6e6",
      title: "#ffffff",
      text: "#d0d0d0",
      dim: "#949494",
      border: "#767676",
      good: "#c8c8c8",
      warn: "#dcdcdc",
      bad: "#f0f0f0",
      critical: "#ffffff",
      bar: "#262626",
      selection: "#3a3a3a",
    },
    verbs: ["thinking", "working", "reading", "checking"],
    faces: ["(-_-)", "(._.)"],
  }),
  skin("slate", {
    description: "Cool blue greys",
    palette: {
      accent: "#7fa7d9",
      title: "#b5cdee",
      text: "#cbd3dd",
      dim: "#8793a3",
      border: "#52647a",
      good: "#83b68f",
      warn: "#d3b26a",
      bad: "#df8a84",
      critical: "#ff7a7a",
      bar: "#1c232c",
      selection: "#2b3745",
    },
    verbs: ["considering", "tracing", "sorting", "measuring", "drafting"],
  }),
  skin("daylight", {
    description: "Blue ink for light terminals",
    palette: {
      accent: "#1f5fa8",
      title: "#123f73",
      text: "#25292e",
      dim: "#5c6670",
      border: "#6f8fb3",
      good: "#2b7034",
      warn: "#8a5a00",
      bad: "#b03a2e",
      critical: "#b00020",
      bar: "#e4ebf3",
      selection: "#cfdff1",
    },
    verbs: ["considering", "reading", "sketching", "comparing"],
  }),
  skin("warm-lightmode", {
    description: "Brown ink on paper, for light terminals",
    palette: {
      accent: "#9a4f12",
      title: "#6e3708",
      text: "#33291f",
      dim: "#6f6152",
      border: "#b08b66",
      good: "#4c6b1f",
      warn: "#8c5a00",
      bad: "#a83a24",
      critical: "#a80f1b",
      bar: "#f1e7d8",
      selection: "#e6d5bb",
    },
    verbs: ["steeping", "leafing through", "jotting", "simmering"],
    faces: ["(◕‿◕)", "(´ー`)", "( ˘ω˘ )"],
  }),
  skin("poseidon", {
    description: "Sea green and foam",
    palette: {
      accent: "#3fb8c4",
      title: "#9be3e6",
      text: "#cfe2e4",
      dim: "#7f9ba0",
      border: "#2f7f8c",
      good: "#6fcf97",
      warn: "#e3c06b",
      bad: "#ef8e7d",
      critical: "#ff7285",
      bar: "#12262b",
      selection: "#1d3d45",
    },
    verbs: ["sounding the depths", "riding the current", "charting", "trimming the sails", "casting nets"],
    faces: ["(≋_≋)", "(°ヘ°)", "(~‾▿‾)~"],
    wings: [["≈", "≈"]],
    agentName: "Poseidon",
    welcome: "Where do we sail? /help lists the commands.",
    goodbye: "Fair winds.",
    promptSymbol: "Ψ",
  }),
  skin("sisyphus", {
    description: "Stone and dust",
    palette: {
      accent: "#c2a878",
      title: "#e2d2b0",
      text: "#cfcac0",
      dim: "#938d82",
      border: "#77705f",
      good: "#9fb27c",
      warn: "#d0a760",
      bad: "#d98873",
      critical: "#f0736b",
      bar: "#242220",
      selection: "#38342e",
    },
    verbs: ["pushing the stone", "starting over", "climbing", "almost there", "bracing"],
    faces: ["(ง ͠°_°)ง", "(・_・;)", "(￣ー￣)"],
    agentName: "Sisyphus",
    welcome: "The hill is waiting. /help lists the commands.",
    goodbye: "One must imagine it done.",
    promptSymbol: "◉",
  }),
  skin("charizard", {
    description: "Flame orange and ember",
    palette: {
      accent: "#ff8c42",
      title: "#ffc07a",
      text: "#ecd9c8",
      dim: "#a98d78",
      border: "#b4592a",
      good: "#9ccc65",
      warn: "#ffca55",
      bad: "#ff8270",
      critical: "#ff5c4d",
      bar: "#2b1c12",
      selection: "#47291a",
    },
    verbs: ["warming up", "gaining height", "breathing fire", "circling", "diving in"],
    faces: ["(ò_ó)", "(▼皿▼)", "ᕙ(`▿´)ᕗ"],
    wings: [["«", "»"]],
    agentName: "Charizard",
    welcome: "Ready to take off. /help lists the commands.",
    goodbye: "The fire keeps.",
    promptSymbol: "▲",
  }),
]

interface Palette {
  readonly accent: string
  readonly title: string
  readonly text: string
  readonly dim: string
  readonly border: string
  readonly good: string
  readonly warn: string
  readonly bad: string
  readonly critical: string
  /** Background of the status bar and the completion menu. */
  readonly bar: string
  readonly selection: string
}

interface SkinOptions extends Partial<Omit<Skin["branding"], "responseLabel" | "helpHeader">> {
  readonly description: string
  readonly palette: Palette
  readonly verbs: readonly string[]
  readonly faces?: readonly string[]
  readonly wings?: Skin["spinner"]["wings"]
}

function skin(name: string, options: SkinOptions): Skin {
  const { description, palette, verbs, faces, wings = [], ...branding } = options
  return {
    ...DEFAULT_SKIN,
    name,
    description,
    colors: colorsOf(palette),
    spinner: {
      ...DEFAULT_SKIN.spinner,
      thinkingVerbs: verbs,
      wings,
      ...(faces === undefined ? {} : { waitingFaces: faces, thinkingFaces: faces }),
    },
    branding: {
      ...DEFAULT_SKIN.branding,
      responseLabel: branding.agentName ?? DEFAULT_SKIN.branding.responseLabel,
      ...branding,
    },
  }
}

function colorsOf(palette: Palette): Readonly<Record<ColorRole, string>> {
  return {
    banner_border: palette.border,
    banner_title: palette.title,
    banner_accent: palette.accent,
    banner_dim: palette.dim,
    banner_text: palette.text,
    ui_accent: palette.accent,
    ui_label: palette.title,
    ui_ok: palette.good,
    ui_error: palette.bad,
    ui_warn: palette.warn,
    prompt: palette.accent,
    input_rule: palette.border,
    response_border: palette.border,
    status_bar_bg: palette.bar,
    status_bar_text: palette.text,
    status_bar_strong: palette.title,
    status_bar_dim: palette.dim,
    status_bar_good: palette.good,
    status_bar_warn: palette.warn,
    status_bar_bad: palette.bad,
    status_bar_critical: palette.critical,
    session_label: palette.title,
    session_border: palette.border,
    selection_bg: palette.selection,
    completion_menu_bg: palette.bar,
    completion_menu_text: palette.text,
    completion_menu_selected: palette.title,
    completion_menu_detail: palette.dim,
  }
}
