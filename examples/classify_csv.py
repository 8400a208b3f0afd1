"""From a CSV file to a model, predictions and a report.

    python examples/classify_csv.py

Writes proteins.csv (the bundled data), model.rankfactor, predictions.csv and report.html into the
working folder.
"""

import pandas as pd

from rankfactor import RankFactorClassifier, load_alzheimer, read_table, save_model, write_report


def main() -> None:
    data = load_alzheimer()
    data.table.assign(status=data.labels["Impairment"]).to_csv("proteins.csv")

    read = read_table("proteins.csv", text_columns=["status"])
    table, status = read.values, read.annotations["status"]
    train, new = table.iloc[:250], table.iloc[250:]

    model = RankFactorClassifier("rank", random_state=0).fit(train, status.iloc[:250])
    print(f"accuracy on {len(new)} new people: {model.score(new, status.iloc[250:]):.2f}")

    probabilities = pd.DataFrame(model.predict_proba(new), new.index, model.classes_)
    probabilities.assign(predicted=model.predict(new)).to_csv("predictions.csv")
    save_model(model, "model.rankfactor")
    write_report("report.html", model.posterior_, title="Cerebrospinal fluid", table=train)


if __name__ == "__main__":
    main()
