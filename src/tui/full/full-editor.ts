import { createPasteFiles, removeOldPastes } from "../../admin/editor-support/paste-files.ts"
import type { App } from "../../app/app.ts"
import { readAttachedImage } from "../../app/services/attached-image.ts"
import type { Session } from "../../app/session/session.ts"
import { systemClock } from "../../base/clock.ts"
import type { Home } from "../../config/home.ts"
import { NO_COMPLETIONS } from "../editor/completion/completion-source.ts"
import { createEditor } from "../editor/editor.ts"
import type { Editor } from "../editor/editor.ts"
import { createKeymap } from "../editor/keymap.ts"
import { homeHistory } from "../prompt-history.ts"

/** Pastes are folded like this until the settings are known. */
const FIRST_LIMITS = { newlines: 5, unbracketedNewlines: 5, characters: 2000 }

/** The editor of the first frame. It has no history and no completions until `configureEditor`. */
export function createFirstEditor(options: {
  readonly home: Home
  readonly cwd: () => string
  readonly queued: () => readonly string[]
  readonly changed: () => void
}): Editor {
  const { home, cwd, queued, changed } = options
  return createEditor({
    keymap: createKeymap(),
    mode: "emacs",
    history: { entries: () => [], add: () => undefined },
    completion: { complete: () => Promise.resolve(NO_COMPLETIONS) },
    commands: () => [],
    queued,
    pastes: { ...createPasteFiles({ home, clock: systemClock }), ...FIRST_LIMITS },
    readImage: (path) => readAttachedImage(path, { cwd: cwd(), userHome: home.userHome }),
    now: () => systemClock.now(),
    changed,
  })
}

/** Gives the editor what the settings and the conversation decide. The draft stays. */
export async function configureEditor(
  editor: Editor,
  options: { readonly app: App; readonly session: () => Session; readonly problem: (text: string) => void },
): Promise<void> {
  const { app, session, problem } = options
  const [{ editorSettings }, { conversationCompletion }, { skinNames }, { SLASH_COMMANDS }, { listPersonalities }] =
    await Promise.all([
      import("../editor/editor-settings.ts"),
      import("../editor/completion/conversation-completion.ts"),
      import("../theme/load-skin.ts"),
      import("../../commands/slash-table.ts"),
      import("../../app/services/personalities.ts"),
    ])
  const { pastes, ...settings } = editorSettings(app.config)
  editor.configure({
    ...settings,
    pastes: { ...createPasteFiles(app), ...pastes },
    ...(app.home.profile === "default" ? {} : { profile: app.home.profile }),
    history: homeHistory(app, problem),
    completion: conversationCompletion({
      app,
      session,
      skins: () => skinNames(app.home.file("skins")).map(({ name, description }) => ({ name, detail: description })),
      personalities: () =>
        listPersonalities(app.config).map(({ name, description }) => ({ name, detail: description })),
    }),
    commands: () => SLASH_COMMANDS.map(({ name }) => name),
  })
  removeOldPastes(app)
}
