"""The measurements of a run: kept by case, written as JSON and Markdown."""

import json
import pathlib
import statistics

from cases import Case


class Results:
    """Pairs of (ours, peer) by case; ours is None where only the peer was measured."""

    def __init__(self, where: dict[str, str], note: str) -> None:
        self.where_ = where
        self.note_ = note
        self.cases_: dict[str, Case] = {}
        self.pairs_: dict[str, list[tuple[float | None, dict]]] = {}
        self.failures: dict[str, str] = {}

    def add(self, case: Case, ours: float | None, peer: dict) -> None:
        self.cases_[case.name] = case
        self.pairs_.setdefault(case.name, []).append((ours, peer))

    def fail(self, case: Case, why: str) -> None:
        self.failures[case.name] = why

    def summary(self, case: Case) -> dict:
        """Medians over the rounds; the ratio is the median of the rounds' ratios."""
        pairs = self.pairs_[case.name]
        ours = [pair[0] for pair in pairs if pair[0] is not None]
        found = {
            "peer": pairs[0][1]["peer"],
            "mode": pairs[0][1]["mode"],
            "field": case.field,
            "rounds": len(pairs),
            "peer_value": statistics.median(peer[case.field] for _, peer in pairs),
            "peer_rss_bytes": max(peer["peak_rss_bytes"] for _, peer in pairs),
        }
        if ours:
            ratios = [case.ratio(own, peer[case.field]) for own, peer in pairs]
            found |= {"our_value": statistics.median(ours), "ratio": statistics.median(ratios), "ratios": ratios}
        return found

    def line(self, case: Case) -> str:
        """One line for the console."""
        if case.name not in self.pairs_:
            return f"{case.name}: failed: {self.failures[case.name]}"
        found = self.summary(case)
        text = f"{case.name}: {found['peer']} {found['peer_value']:.4g} {case.field}"
        if "ratio" in found:
            text += f", ours {found['our_value']:.4g}, {found['ratio']:.2f} x faster"
        return text

    def write(self, folder: pathlib.Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        everything = {
            "machine": self.where_,
            "note": self.note_,
            "cases": {name: {**self.summary(case), "measured": [
                {"ours": ours, "peer": peer} for ours, peer in self.pairs_[name]]}
                for name, case in self.cases_.items()},
            "failures": self.failures,
        }
        (folder / "peers.json").write_text(json.dumps(everything, indent=2) + "\n", encoding="utf-8")
        (folder / "peers.md").write_text(self.markdown(), encoding="utf-8")

    def markdown(self) -> str:
        lines = [f"- {name}: {value}" for name, value in self.where_.items()]
        if self.note_:
            lines.append(f"- note: {self.note_}")
        lines += ["", "| case | peer | mode | rounds | peer's value | ours | times faster (each round) | peer's RSS |",
                  "|---|---|---|---|---|---|---|---|"]
        for case in self.cases_.values():
            found = self.summary(case)
            unit = "s" if case.field == "seconds" else "tok/s"
            ours = f"{found['our_value']:.4g} {unit}" if "ratio" in found else "not measured"
            ratio = "not measured"
            if "ratio" in found:
                ratio = f"**{found['ratio']:.2f}** ({', '.join(f'{value:.2f}' for value in found['ratios'])})"
            lines.append(f"| {case.name} | {found['peer']} | {found['mode']} | {found['rounds']} "
                         f"| {found['peer_value']:.4g} {unit} | {ours} | {ratio} "
                         f"| {found['peer_rss_bytes'] / 2**30:.1f} GiB |")
        lines += [f"\nFailed: {name}: {why}" for name, why in self.failures.items()]
        return "\n".join(lines) + "\n"
