// Every repetition has a limit, so that a pattern takes linear time.
export const SPACE = String.raw`\s{1,20}`
export const FLAGS = String.raw`(?:${SPACE}-[^\s;|&]{0,60}){0,12}`
export const QUOTE = `["']?`
export const END = String.raw`(?=[\s;&|)]|$)`
/** Not the `rm` of another program. */
export const RM = String.raw`(?<![\w.-]|\b(?:git|docker|podman|npm|yarn|pnpm|gh|compose|volume|image|container|network|s3|cached|helm|uv|svn|hg)\s{1,5})g?rm\b`
export const POSITION = String.raw`(?:(?:^|[;&|\n${"`"}])\s{0,20}\(?\s{0,20}|\$\(\s{0,20})(?:(?:sudo|doas|exec|command|then|do|else|!)${SPACE}){0,3}(?:\/(?:usr\/)?s?bin\/)?`
export const SEGMENT = String.raw`[^;|&\n]{0,400}?`
export const DEVICE = String.raw`\/dev\/(?:sd|nvme|hd|mmcblk|vd|xvd|disk)`
export const HOME = String.raw`(?:~|\$HOME|\$\{HOME\})`
export const SYSTEM_CONFIG = String.raw`\/(?:etc|private\/(?:etc|var|tmp|home))\/`
export const USER_SENSITIVE = String.raw`${HOME}\/\.(?:ssh(?:\/|\b)|bashrc|zshrc|profile|bash_profile|zprofile|netrc|pgpass|npmrc|pypirc)`
export const HERMES_FILE = String.raw`(?:${HOME}\/\.hermes|\$HERMES_HOME|\$\{HERMES_HOME\})\/(?:profiles\/[^\s\/]{1,60}\/)?(?:\.env|config\.yaml|permissions\.yaml)`
export const SENSITIVE = String.raw`(?:${SYSTEM_CONFIG}|\/dev\/sd|${USER_SENSITIVE}|${HERMES_FILE})`
export const PROJECT = String.raw`(?:[^\s"';|&<>()]{0,200}\/)?(?:\.env(?:\.[^\s"'\/;|&]{1,60})?|config\.yaml)(?=["'\s;|&)]|$)`
export const LAST = String.raw`[^\s"';|&]{0,200}["']?\s{0,20}(?:$|[;&|\n])`
export const SHELL = String.raw`(?<![\w.-])(?:ba|z|k|da)?sh`
export const RUNNER = String.raw`(?<![\w.-])(?:python[\d.]{0,5}|perl|ruby|node)`

/** A pattern that is compiled when a text is first compared with it: most patterns are never needed in a run. */
export class TextPattern {
  readonly #source: string
  readonly #flags: string
  #compiled: RegExp | undefined

  constructor(source: string, flags: string) {
    this.#source = source
    this.#flags = flags
  }

  exec(text: string): RegExpExecArray | null {
    this.#compiled ??= new RegExp(this.#source, this.#flags)
    return this.#compiled.exec(text)
  }
}

export const text = (source: string): TextPattern => new TextPattern(source, "isu")
export const caseSensitive = (source: string): TextPattern => new TextPattern(source, "su")
