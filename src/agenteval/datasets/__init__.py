"""Files that people write or record: scenarios, targets, dialogs. Every fault of a file is reported at once, with its
place; nothing but InputError comes of a bad file.

What names rules or channels is handed in by the caller (`rules.build.bind`, `channels.build.factory`), so that this
package knows neither.
"""
