import { settingsWithOrigin } from "../../admin/settings/describe-settings.ts"
import { setSetting, unsetSetting } from "../../admin/settings/edit-settings.ts"
import { findLostProtection } from "../../admin/settings/lost-protection.ts"
import type { HomeContext } from "../../admin/home-context.ts"
import { loadSettings } from "../../admin/settings/load-settings.ts"
import { isRecord } from "../../base/json.ts"
import { asSentence } from "../../base/sentence.ts"
import { checkText } from "../../config/edit-config.ts"
import type { Tree } from "../../config/document/document-tree.ts"
import { loosensProtection } from "../../config/loosens-protection.ts"
import { PERMISSION_PROFILES } from "../../config/permission-profiles.ts"
import { isSecretKey } from "../../config/secrets.ts"
import type { Setting } from "../../config/setting.ts"
import { findSetting, settingSections } from "../../config/settings.ts"
import type { Choice, ChoiceList, Selection } from "../choice-list.ts"

/** A setting to open, or a new value for it as the user would write it. */
export type SettingChoice =
  | { readonly kind: "setting"; readonly key: string }
  | { readonly kind: "value"; readonly key: string; readonly text: string }
  /** The answer to the question before a change that removes protection. */
  | { readonly kind: "confirmed"; readonly text: string }
  | { readonly kind: "kept" }

/** Every setting with its value. Choosing one edits it; the value is checked and saved as `hermes config set` does. */
export function settingsList(context: HomeContext): ChoiceList<SettingChoice> {
  let shown: Awaited<ReturnType<typeof settingsWithOrigin>> = {}
  return {
    title: "Settings",
    hint: "Enter changes it",
    load: async () => {
      const values = await settingsWithOrigin(context)
      shown = values
      const choices = settingSections().flatMap(({ title, keys }) =>
        keys.flatMap((key): readonly Choice<SettingChoice>[] => {
          const setting = findSetting(key)
          if (setting === undefined || setting.reserved === true || key === "_config_version") return []
          const { value, origin } = values[key] ?? { value: setting.default, origin: "default" }
          return [
            {
              value: { kind: "setting", key },
              label: key,
              description: setting.help,
              details: [valueText(value), origin === "default" ? "" : origin],
              group: title,
            },
          ]
        }),
      )
      return { choices }
    },
    select: async (value, { signal }) => {
      const setting = value.kind === "setting" ? findSetting(value.key) : undefined
      if (value.kind !== "setting" || setting === undefined) return { kind: "done" }
      const { key } = value
      signal.throwIfAborted()
      const current = (await settingsWithOrigin(context))[key]?.value
      const tree = (await loadSettings(context)).config.user()
      return { kind: "open", list: valueList(context, { key, setting, current, tree }) }
    },
    actions: [
      {
        chord: "ctrl+r",
        label: "resets it",
        confirm: ({ label }) => {
          const lost = loosensProtection(label, shown[label]?.value, undefined)
          return `${lost === undefined ? "" : `${lost} `}Remove ${label} from config.yaml, so that its default applies?`
        },
        run: async ({ value }) => {
          if (value.kind !== "setting") return undefined
          const removed = await unsetSetting(context, value.key)
          return removed.ok ? `${value.key} has its default value again.` : asSentence(removed.error.message)
        },
      },
    ],
  }
}

function valueList(
  context: HomeContext,
  {
    key,
    setting,
    current,
    tree,
  }: { readonly key: string; readonly setting: Setting; readonly current: unknown; readonly tree: Tree },
): ChoiceList<SettingChoice> {
  const isSecret = isSecretSetting(key)
  const names = key === "approvals.profile" ? profileNames(tree) : []
  const offered = isSecret ? [] : [...new Set([...offeredValues(setting, current), ...names])]
  const value = (text: string): SettingChoice => ({ kind: "value", key, text })
  return {
    title: key,
    hint: `${setting.help} ${rangeText(setting)}`.trim(),
    emptyText: isSecret ? "Type the new value." : "Type a value.",
    load: () =>
      Promise.resolve({
        choices: offered.map((text): Choice<SettingChoice> => ({
          value: value(text),
          label: text === "" ? '""' : text,
          details: [text === valueText(setting.default) ? "default" : ""],
          isCurrent: text === valueText(current),
        })),
      }),
    ...(isClosed(setting) ? {} : { freeEntry: value }),
    // `5` is a number of turns, although `50` contains it.
    prefersTyped: (text) => checkText(key, text, tree).ok,
    ...(isSecret ? { isSecret: true } : {}),
    select: async (chosen) => {
      if (chosen.kind !== "value") return { kind: "back", note: "" }
      const lost = await findLostProtection(context, key, chosen.text)
      if (lost !== undefined) return { kind: "open", list: confirmList(context, { key, text: chosen.text, lost }) }
      return await changeSetting(context, key, chosen.text)
    },
  }
}

/** The second question before a change that removes protection. */
function confirmList(
  context: HomeContext,
  { key, text, lost }: { readonly key: string; readonly text: string; readonly lost: string },
): ChoiceList<SettingChoice> {
  return {
    title: "This removes protection",
    hint: "Enter chooses",
    load: () =>
      Promise.resolve({
        choices: [
          { value: { kind: "kept" }, label: `Keep ${key} as it is` },
          { value: { kind: "confirmed", text }, label: `Set ${key} to ${text === "" ? '""' : text}` },
        ],
        note: lost,
      }),
    select: async (value) =>
      value.kind === "confirmed"
        ? await changeSetting(context, key, value.text)
        : { kind: "back", note: "Not changed." },
  }
}

async function changeSetting(context: HomeContext, key: string, text: string): Promise<Selection<SettingChoice>> {
  const edited = await setSetting(context, key, text)
  if (!edited.ok) return { kind: "stay", note: asSentence(edited.error.message) }
  const { paths, secretVariables, warnings } = edited.value
  const stored = secretVariables.length === 0 ? [] : [`The value is stored in .env as ${secretVariables.join(", ")}.`]
  return { kind: "back", note: [`Set ${paths.join(", ")}.`, ...stored, ...warnings.map(asSentence)].join(" ") }
}

function isSecretSetting(key: string): boolean {
  return isSecretKey(key.split(".").at(-1) ?? key)
}

function profileNames(tree: Tree): readonly string[] {
  const { approvals } = tree
  const own = isRecord(approvals) && isRecord(approvals["profiles"]) ? Object.keys(approvals["profiles"]) : []
  return [...PERMISSION_PROFILES, ...own]
}

function offeredValues(setting: Setting, current: unknown): readonly string[] {
  if (setting.values !== undefined) return setting.values
  if (setting.type === "boolean") return ["true", "false"]
  return [...new Set([valueText(current), valueText(setting.default)])]
}

/** No other values are possible. */
function isClosed({ values, type, nullable }: Setting): boolean {
  return (values !== undefined || type === "boolean") && nullable !== true
}

function rangeText({ min, max }: Setting): string {
  if (min !== undefined && max !== undefined) return `From ${min} to ${max}.`
  if (min !== undefined) return `At least ${min}.`
  return max === undefined ? "" : `At most ${max}.`
}

function valueText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? null)
}
