import { isExecutingKey, UNREADABLE_SETTING } from "../project/git-repositories.ts"
import { parseGitConfig, settingKey, settingText } from "../project/git-config-text.ts"
import type { GitSetting } from "../project/git-config-text.ts"

/** Settings that decide which programs git starts or which servers it contacts, and that changed. */
export interface ChangedSettings {
  /** Their full names. */
  readonly keys: readonly string[]
  /** Whether all of them only decide where git pushes to and fetches from. */
  readonly areAddresses: boolean
  /** The text with their earlier values. Other settings keep their new ones. */
  readonly restored: string
}

export interface ExpectedChanges {
  /** Commands that only run git and may change settings: what they name is left out. */
  readonly gitLines?: readonly string[]
  /** Other settings to leave out, by their full names. */
  readonly isExpected?: (key: string) => boolean
}

/** Compares the texts of a configuration file. Undefined when nothing has changed. */
export function changedSettings(
  before: string,
  now: string,
  { gitLines = [], isExpected = () => false }: ExpectedChanges,
): ChangedSettings | undefined {
  if (before === now) return undefined
  const earlier = parseGitConfig(before) ?? []
  const later = parseGitConfig(now)
  if (later === undefined) return { keys: [UNREADABLE_SETTING], areAddresses: false, restored: before }
  const [known, found] = [guarded(earlier), guarded(later)]
  const remotes = new Set(earlier.flatMap(({ section, subsection }) => (section === "remote" ? [subsection] : [])))
  const isKnownRemote = ({ value }: GitSetting): boolean => value === "." || remotes.has(value)
  /** The user and git often do this elsewhere: a branch that had no upstream gets one of the known remotes, or loses it. */
  const isUpstream = (old: readonly GitSetting[], current: readonly GitSetting[]): boolean =>
    [...old, ...current].every(({ section, name }) => section === "branch" && name === "remote") &&
    (current.length === 0 || (old.length === 0 && current.every(isKnownRemote)))
  const isNamed = namedIn(gitLines, earlier, isKnownRemote)
  const changed = [...new Set([...known.keys(), ...found.keys()])].filter((key) => {
    const [old, current] = [known.get(key) ?? [], found.get(key) ?? []]
    return !haveSameValues(old, current) && !isExpected(key) && !isUpstream(old, current) && !isNamed(old, current)
  })
  if (changed.length === 0) return undefined
  return {
    keys: changed,
    areAddresses: changed.every(isAddressKey),
    restored: withEarlier({ before, now }, { known, found, changed }),
  }
}

/** Names of settings without their subsection. A remote of a branch may also be an address. */
const ADDRESSES = /^(?:remote\.(?:url|pushurl|pushdefault|push|mirror)|branch\.(?:remote|pushremote)|submodule\.url)$/u

function isAddress(setting: GitSetting): boolean {
  return isAddressKey(settingKey(setting))
}

/** Whether a full name is that of a setting that decides where git pushes to or fetches from. */
export function isAddressKey(key: string): boolean {
  const [section = ""] = key.split(".", 1)
  return ADDRESSES.test(`${section}.${key.slice(key.lastIndexOf(".") + 1)}`)
}

function isGuarded(setting: GitSetting): boolean {
  const key = `${setting.section}.${setting.name}`
  return isAddress(setting) || isExecutingKey(key) || (key === "submodule.update" && setting.value.startsWith("!"))
}

type SettingsByKey = ReadonlyMap<string, readonly GitSetting[]>

function guarded(settings: readonly GitSetting[]): SettingsByKey {
  return Map.groupBy(settings.filter(isGuarded), settingKey)
}

function haveSameValues(one: readonly GitSetting[], other: readonly GitSetting[]): boolean {
  return one.length === other.length && one.every(({ value }, index) => value === other[index]?.value)
}

/**
 * Whether git itself changed a setting for one of the lines: the upstream of a branch, or what the line says about a remote. New values must
 * be on the line or be known, because other processes may change the file at the same time.
 */
function namedIn(
  lines: readonly string[],
  earlier: readonly GitSetting[],
  isKnownRemote: (setting: GitSetting) => boolean,
): (old: readonly GitSetting[], current: readonly GitSetting[]) => boolean {
  const words = new Set(lines.flatMap((line) => line.split(/[\s'"=;&|]+/u)))
  const isOnLine = (setting: GitSetting): boolean =>
    [...words].some((word) => word.toLowerCase() === settingKey(setting).toLowerCase())
  return (old, current) => {
    const [setting] = [...current, ...old]
    if (setting === undefined || !isAddress(setting) || setting.section === "submodule") return false
    const mayChange =
      isOnLine(setting) ||
      words.has("remote") ||
      (setting.section === "branch" &&
        ["push", "branch", "checkout", "switch", "fetch"].some((word) => words.has(word)))
    const isKnown = (current: GitSetting): boolean =>
      words.has(current.value) ||
      (current.section === "branch" && isKnownRemote(current)) ||
      earlier.some((other) => valueOf(other) === valueOf(current)) ||
      current.name === "mirror"
    return mayChange && current.every(isKnown)
  }
}

/** With what it is for, but without the name of the remote or branch. */
function valueOf({ section, name, value }: GitSetting): string {
  return [section, name, value].join()
}

/** A file with other settings that a changed one includes is read at its position, so the whole text is restored then. */
function withEarlier(
  { before, now }: { readonly before: string; readonly now: string },
  {
    known,
    found,
    changed,
  }: { readonly known: SettingsByKey; readonly found: SettingsByKey; readonly changed: readonly string[] },
): string {
  if (changed.some((key) => /^include(?:if)?\./u.test(key))) return before
  const removed = changed.flatMap((key) => found.get(key) ?? []).toSorted((one, other) => other.start - one.start)
  const kept = removed.reduce(withoutSetting, now)
  const lineBreak = kept === "" || kept.endsWith("\n") ? "" : "\n"
  const added = changed.flatMap((key) => known.get(key) ?? []).map(settingText)
  const restored = kept + lineBreak + added.join("")
  const settings = parseGitConfig(restored) ?? []
  const values = guarded(settings)
  const isRestored = changed.every((key) => haveSameValues(known.get(key) ?? [], values.get(key) ?? []))
  return isRestored && !haveSameSettings(settings, parseGitConfig(before) ?? []) ? restored : before
}

function withoutSetting(text: string, { start, end }: GitSetting): string {
  const [indentation = ""] = /[ \t]*$/u.exec(text.slice(0, start)) ?? []
  const [lineBreak = ""] = /^\r?\n/u.exec(text.slice(end)) ?? []
  const lineStart = start - indentation.length
  const isWholeLine = lineStart === 0 || text[lineStart - 1] === "\n"
  return isWholeLine
    ? text.slice(0, lineStart) + text.slice(end + lineBreak.length)
    : text.slice(0, start) + text.slice(end)
}

function haveSameSettings(one: readonly GitSetting[], other: readonly GitSetting[]): boolean {
  const [sorted, expected] = [one, other].map((settings) =>
    settings
      .map((setting) => `${settingKey(setting)}\n${setting.value}`)
      .toSorted()
      .join("\0"),
  )
  return sorted === expected
}
