package dev.nimble.benchmarks.report;

import java.util.ArrayList;
import java.util.List;

/** A table of text with columns as wide as they need be. */
public final class TextTable {
  private final List<String[]> rows = new ArrayList<>();

  /** Adds a row; the first row is the heading. */
  public TextTable row(Object... cells) {
    String[] texts = new String[cells.length];
    for (int i = 0; i < cells.length; i++) {
      texts[i] = String.valueOf(cells[i]);
    }
    rows.add(texts);
    return this;
  }

  /** The table, a line a row, with a rule under the heading. */
  @Override
  public String toString() {
    int columns = rows.stream().mapToInt(r -> r.length).max().orElse(0);
    int[] widths = new int[columns];
    for (String[] row : rows) {
      for (int i = 0; i < row.length; i++) {
        widths[i] = Math.max(widths[i], row[i].length());
      }
    }
    StringBuilder text = new StringBuilder();
    for (int r = 0; r < rows.size(); r++) {
      StringBuilder line = new StringBuilder();
      for (int i = 0; i < rows.get(r).length; i++) {
        String cell = rows.get(r)[i];
        line.append(cell).append(" ".repeat(widths[i] - cell.length() + 2));
      }
      text.append(line.toString().stripTrailing()).append('\n');
      if (r == 0) {
        for (int width : widths) {
          text.append("-".repeat(width)).append("  ");
        }
        text.setLength(text.length() - 2);
        text.append('\n');
      }
    }
    return text.toString();
  }
}
