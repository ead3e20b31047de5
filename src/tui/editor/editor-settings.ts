import type { Config } from "../../config/load-config.ts"
import { chosenEditorKeys } from "../../config/editor-keys.ts"
import type { EditorOptions } from "./editor-options.ts"
import { createKeymap } from "./keymap.ts"
import type { PasteLimits } from "./pasted-text.ts"

/** What the settings decide about the editor. */
export function editorSettings(
  config: Config,
): Pick<EditorOptions, "keymap" | "mode"> & { readonly pastes: PasteLimits } {
  return {
    keymap: createKeymap(chosenEditorKeys(config.get("display.keys"))),
    mode: config.get("display.editor_mode"),
    pastes: {
      newlines: config.get("paste_collapse_threshold"),
      unbracketedNewlines: config.get("paste_collapse_threshold_fallback"),
      characters: config.get("paste_collapse_char_threshold"),
    },
  }
}
